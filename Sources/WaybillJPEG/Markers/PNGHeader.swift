/// What is read of a PNG file before libpng reads it (PNG specification, third edition, section 5): size, orientation and
/// metadata. Every read is bounds-checked.
struct PNGHeader {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    private(set) var width = 0
    private(set) var height = 0
    /// Whether the rows are stored in seven passes (Adam7), so that all of them are needed at once.
    private(set) var isInterlaced = false
    /// The Exif orientation, 1 to 8.
    private(set) var orientation = 1
    /// The names of the metadata, each once.
    private(set) var metadata: [String] = []

    /// The name of a color space that is declared by other means than a profile, and is not sRGB.
    static let colorSpace = "color space"

    private var hasImageData = false
    /// Whether the code of the color space is that of sRGB; `nil` without a code.
    private var isCodeOfSRGB: Bool?
    private var hasOtherPrimaries = false
    private var declaresSRGB = false

    /// A file can have millions of chunks, each of which is compared to the names so far.
    private static let mostNames = 20

    /// Chunks that define the image, and those about its display that need not be reported as removed.
    private static let technical: Set<String> = [
        "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "cHRM", "sRGB", "cICP", "mDCV", "cLLI", "sBIT", "bKGD", "hIST",
        "pHYs", "sPLT",
    ]
    private static let names = [
        "eXIf": "Exif", "iCCP": "ICC profile", "tEXt": "text", "zTXt": "text", "iTXt": "text", "tIME": "time",
        "acTL": "animation", "fcTL": "animation", "fdAT": "animation",
    ]

    /// The primaries and the transfer function of sRGB (ITU-T H.273).
    private static let sRGBCode: [UInt8] = [1, 13]
    /// White, red, green and blue of sRGB: pairs of x and y, times 100,000.
    private static let sRGBPrimaries = [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000]

    /// - Throws: ``JPEGError`` if the file has no size or ends before the image data.
    init(_ bytes: [UInt8]) throws(JPEGError) {
        let end = try Self.walk(bytes) { name, data throws(JPEGError) in try note(name, bytes[data]) }
        if let end, end < bytes.count { add("trailing data") }
        if isInUnconvertedSpace { add(Self.colorSpace) }
        // A file whose image data is cut off ends here, too; libpng then reports it.
        guard width > 0 || height > 0 || hasImageData else { throw Self.truncated }
    }

    /// Visits each chunk with its name and the range of its data, which its checksum follows.
    ///
    /// - Returns: The end of the image, or `nil` if its marker is missing.
    /// - Throws: ``JPEGError`` if the file ends within a chunk.
    static func walk(
        _ bytes: [UInt8], _ visit: (_ name: String, _ data: Range<Int>) throws(JPEGError) -> Void
    ) throws(JPEGError) -> Int? {
        let reader = BigEndianReader(bytes[...])
        var position = signature.count
        while let length = reader.long(position), position + 8 <= bytes.count {
            let name = String(decoding: bytes[position + 4..<position + 8], as: UTF8.self)
            let data = position + 8..<position + 8 + length
            guard data.upperBound <= bytes.count else {
                // Only the end marker can be missing without harm: another chunk may be the orientation.
                guard name == "IEND" else { throw truncatedImage }
                return nil
            }
            try visit(name, data)
            position = data.upperBound + 4
            if name == "IEND" { return position }
        }
        return nil
    }

    private static let truncatedImage = JPEGError(
        .truncated, "The file ends before the image does. Copy or download it again.")
    private static let truncated = JPEGError(
        .truncated, "The file ends within its header. Copy or download it again.")

    private mutating func note(_ name: String, _ data: ArraySlice<UInt8>) throws(JPEGError) {
        switch name {
        case "IHDR":
            let reader = BigEndianReader(data)
            // A second header would belie the size that is checked.
            guard self.width == 0, data.count == 13, let width = reader.long(0), let height = reader.long(4) else {
                throw JPEGError(.corrupt, "The header of the PNG file is damaged.")
            }
            (self.width, self.height, isInterlaced) = (width, height, data.last != 0)
        case "IDAT": hasImageData = true
        case "eXIf": orientation = ExifOrientation.find(inChunk: data) ?? 1
        case "cICP": isCodeOfSRGB = isCodeOfSRGB ?? data.starts(with: Self.sRGBCode)
        case "cHRM": hasOtherPrimaries = !Self.isSRGB(primaries: data)
        case "sRGB": declaresSRGB = true
        default: break
        }
        if !Self.technical.contains(name) { add(Self.names[name] ?? name.filter(\.isLetter)) }
    }

    /// Whether the colors are not those of sRGB and are not converted: only profiles are. A code has precedence over a
    /// profile, a profile over the declaration of sRGB, and that over primaries (PNG, third edition).
    private var isInUnconvertedSpace: Bool {
        if let isCodeOfSRGB { return !isCodeOfSRGB }
        return hasOtherPrimaries && !declaresSRGB && !metadata.contains("ICC profile")
    }

    private static func isSRGB(primaries data: ArraySlice<UInt8>) -> Bool {
        let reader = BigEndianReader(data)
        return sRGBPrimaries.enumerated().allSatisfy { reader.long(4 * $0.offset) == $0.element }
    }

    private mutating func add(_ name: String) {
        if metadata.count < Self.mostNames, !metadata.contains(name) { metadata.append(name) }
    }
}
