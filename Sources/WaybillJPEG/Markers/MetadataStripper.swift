import Glibc

/// Removes the metadata of a JPEG file and leaves all other bytes unchanged.
///
/// Application segments and comments are removed wherever they occur, also between scans, and so is any data after the
/// end of the image (previews, gain maps, videos). The output begins with the one segment that defines the color model,
/// if the file has one. If the image is not upright, this is followed by an Exif segment of 36 bytes with the orientation
/// as its only entry.
enum MetadataStripper {
    static let jfif: [UInt8] = [
        0xFF, 0xE0, 0, 16, 0x4A, 0x46, 0x49, 0x46, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0,
    ]

    /// - Returns: `nil` if the file contains an unexpected marker or structure. The caller then re-encodes the file.
    static func strip(_ bytes: [UInt8], _ header: JPEGHeader) -> [UInt8]? {
        var output: [UInt8] = [0xFF, 0xD8] + meaning(of: header) + orientation(header.orientation)
        let end = walk(bytes, from: 2) { marker, range in
            if !isMetadata(marker) { output += bytes[range] }
        }
        return end == nil ? nil : output + [0xFF, 0xD9]
    }

    /// The names of the metadata of a file, before and between its scans, each once, and `trailing data` if bytes follow
    /// the image.
    static func names(_ bytes: [UInt8], _ header: JPEGHeader) -> [String] {
        var names: [String] = []
        func add(_ name: String) {
            if name != "JFIF", !names.contains(name) { names.append(name) }
        }
        for segment in header.segments { add(segment.name) }
        // The header was parsed, and may contain stray bytes.
        let end = walk(bytes, from: scanEnd(bytes, header.scanOffset)) { marker, range in
            if isMetadata(marker) { add(SegmentName.of(marker, bytes[range].dropFirst(4))) }
        }
        if let end, end < bytes.count { add("trailing data") }
        return names
    }

    static func isMetadata(_ marker: UInt8) -> Bool { (0xE0...0xEF).contains(marker) || marker == 0xFE }

    /// Visits every segment from an offset on with its marker; the range of SOS includes its entropy-coded data.
    ///
    /// - Returns: The offset of the end of the image, or `nil` if the file contains an unexpected marker or structure.
    private static func walk(
        _ bytes: [UInt8], from start: Int, _ visit: (UInt8, Range<Int>) -> Void
    ) -> Int? {
        var position = start
        while position + 1 < bytes.count {
            guard bytes[position] == 0xFF else { return nil }
            let marker = bytes[position + 1]
            switch marker {
            case 0xFF: position += 1
            case 0xD9: return position + 2
            case 0x00, 0x01, 0xD0...0xD8: return nil
            default:
                guard let end = segmentEnd(bytes, position) else { return nil }
                let next = marker == 0xDA ? scanEnd(bytes, end) : end
                visit(marker, position..<next)
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

    /// Returns the offset of the first marker after the scan data that is neither a stuffed zero nor a restart marker.
    private static func scanEnd(_ bytes: [UInt8], _ start: Int) -> Int {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return bytes.count }
            var position = start
            while position + 1 < buffer.count,
                let found = unsafe memchr(base + position, 0xFF, buffer.count - position - 1)
            {
                position = unsafe UnsafeRawPointer(found) - UnsafeRawPointer(base)
                let next = unsafe buffer[position + 1]
                if next != 0, !(0xD0...0xD7).contains(next), next != 0xFF { return position }
                position += 1
            }
            return buffer.count
        }
    }

    /// JFIF implies YCbCr; otherwise an Adobe segment gives the color model. A file that has neither gets none, so that
    /// it does not grow.
    private static func meaning(of header: JPEGHeader) -> [UInt8] {
        if header.isJFIF, header.colorModel == .grey || header.colorModel == .yCbCr { return jfif }
        guard let transform = header.adobeTransform else { return [] }
        return [0xFF, 0xEE, 0, 14] + Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, UInt8(clamping: transform)]
    }

    /// Returns a TIFF directory with a single entry (Exif 2.32, 4.6.4 A).
    private static func orientation(_ value: Int) -> [UInt8] {
        guard value != 1 else { return [] }
        return [0xFF, 0xE1, 0, 34] + Array("Exif\0\0MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 1]
            + [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, UInt8(value), 0, 0] + [0, 0, 0, 0]
    }
}
