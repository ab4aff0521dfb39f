/// Reads the orientation from an Exif segment: tag 0x0112 (Orientation) in IFD0 (Exif 2.32, 4.6.4 A).
enum ExifOrientation {
    /// Finds it in a chunk of a PNG or WebP file. Some programs write the prefix of an Exif segment of a JPEG file.
    static func find(inChunk chunk: ArraySlice<UInt8>) -> Int? {
        find(in: chunk.starts(with: Array("Exif\0\0".utf8)) ? chunk.dropFirst(6) : chunk)
    }

    /// - Parameter tiff: The segment after `Exif\0\0`: a TIFF header in either byte order.
    /// - Returns: 1 to 8, or `nil` if it is missing or invalid.
    static func find(in tiff: ArraySlice<UInt8>) -> Int? {
        guard let reader = TIFFReader(tiff), let directory = reader.long(4), let count = reader.short(directory) else {
            return nil
        }
        for index in 0..<count {
            let entry = directory + 2 + 12 * index
            // An entry beyond the end of the segment ends the search, too.
            guard let tag = reader.short(entry) else { return nil }
            guard tag == 0x0112 else { continue }
            guard reader.short(entry + 2) == 3, let value = reader.short(entry + 8), (1...8).contains(value) else {
                return nil
            }
            return value
        }
        return nil
    }
}

private struct TIFFReader {
    private let bytes: ArraySlice<UInt8>
    private let isLittleEndian: Bool

    init?(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        if bytes.starts(with: [0x49, 0x49, 0x2A, 0x00]) {
            isLittleEndian = true
        } else if bytes.starts(with: [0x4D, 0x4D, 0x00, 0x2A]) {
            isLittleEndian = false
        } else {
            return nil
        }
    }

    func short(_ offset: Int) -> Int? {
        guard offset >= 0, offset + 2 <= bytes.count else { return nil }
        let at = bytes.startIndex + offset
        let (first, second) = (Int(bytes[at]), Int(bytes[at + 1]))
        return isLittleEndian ? second << 8 | first : first << 8 | second
    }

    func long(_ offset: Int) -> Int? {
        guard let first = short(offset), let second = short(offset + 2) else { return nil }
        return isLittleEndian ? second << 16 | first : first << 16 | second
    }
}
