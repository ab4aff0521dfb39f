/// Copies a JPEG file without its metadata, byte for byte otherwise.
///
/// Application segments and comments go wherever they stand, also between scans; whatever follows the end of the
/// picture (previews, gain maps, films) goes too. What remains begins with a plain JFIF segment, which also tells
/// decoders that three components are YCbCr.
enum MetadataStripper {
    static let jfif: [UInt8] = [
        0xFF, 0xE0, 0, 16, 0x4A, 0x46, 0x49, 0x46, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0,
    ]

    /// - Returns: `nil` when the walk meets what it does not know. A caller then makes the file anew.
    static func strip(_ bytes: [UInt8]) -> [UInt8]? {
        var output: [UInt8] = [0xFF, 0xD8] + jfif
        var position = 2
        while position + 1 < bytes.count {
            guard bytes[position] == 0xFF else { return nil }
            let marker = bytes[position + 1]
            switch marker {
            case 0xFF: position += 1
            case 0xD9: return output + [0xFF, 0xD9]
            case 0x00, 0x01, 0xD0...0xD8: return nil
            default:
                guard let end = segmentEnd(bytes, position) else { return nil }
                let isMetadata = (0xE0...0xEF).contains(marker) || marker == 0xFE
                let next = marker == 0xDA ? scanEnd(bytes, end) : end
                if !isMetadata { output += bytes[position..<next] }
                position = next
            }
        }
        return nil
    }

    private static func segmentEnd(_ bytes: [UInt8], _ position: Int) -> Int? {
        guard position + 4 <= bytes.count else { return nil }
        let length = Int(bytes[position + 2]) << 8 | Int(bytes[position + 3])
        let end = position + 2 + length
        return length >= 2 && end <= bytes.count ? end : nil
    }

    /// The first marker behind entropy-coded data that is neither a stuffed zero nor a restart.
    private static func scanEnd(_ bytes: [UInt8], _ start: Int) -> Int {
        var position = start
        while position + 1 < bytes.count {
            if bytes[position] == 0xFF {
                let next = bytes[position + 1]
                if next != 0, !(0xD0...0xD7).contains(next), next != 0xFF { return position }
            }
            position += 1
        }
        return bytes.count
    }
}
