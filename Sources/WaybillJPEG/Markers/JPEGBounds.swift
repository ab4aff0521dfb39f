/// The limits that are checked before a decoder reads the file. A file of 206 bytes can declare 4,290 megapixels, and one
/// of 164 bytes makes a decoder request 490 MB.
enum JPEGBounds {
    /// Images of 200 megapixels, and photos of phones with a short video at the end, have up to 80 MB.
    static let inputBytes = 100_000_000
    static let side = 65_500
    static let pixels = 268_000_000
    /// The limit for images of which the decoder keeps all pixels or coefficients, such as progressive ones.
    static let pixelsInMemory = 64_000_000
    static let scans: Int32 = 100
    /// The limit for the groups of Huffman codes of a lossless WebP image, whose tables take up to 20 kB each.
    static let codeGroups = 4_096
    /// The limit for libjpeg's coefficient arrays, which progressive and non-interleaved files need.
    static let decoderMemory = 256 << 20

    static func check(_ header: JPEGHeader) throws(JPEGError) {
        try checkKind(header)
        try check(
            header.width, header.height, upTo: header.process == .progressive ? pixelsInMemory : pixels,
            " A height given after the image data (DNL) is not supported.")
    }

    #if Images
        static func check(_ header: PNGHeader) throws(JPEGError) {
            try check(header.width, header.height, upTo: header.isInterlaced ? pixelsInMemory : pixels)
        }

        /// libwebp needs all pixels in memory, and the tables of all groups of codes. Its encoder makes up to 2,600 groups.
        static func check(_ header: WebPHeader, _ bytes: [UInt8]) throws(JPEGError) {
            try check(
                header.width, header.height, upTo: header.isKeptTwice ? pixelsInMemory / 2 : pixelsInMemory)
            guard header.isKeptTwice else { return }
            let groups = WebPCodeGroups.count(
                in: bytes[header.frame], width: header.frameWidth, height: header.frameHeight)
            guard groups <= codeGroups else {
                throw JPEGError(
                    .tooManyPixels,
                    "Decoding the WebP image requires the tables of \(groups) groups of codes; the limit is "
                        + "\(codeGroups). Save the image with another program.")
            }
        }
    #endif

    private static func check(
        _ width: Int, _ height: Int, upTo cap: Int, _ remedy: String = ""
    ) throws(JPEGError) {
        guard width > 0, height > 0 else {
            throw JPEGError(.noPixels, "The image is \(width) x \(height) pixels.\(remedy)")
        }
        guard width <= side, height <= side, width * height <= cap else {
            throw JPEGError(
                .tooManyPixels,
                "The image has \(width) x \(height) pixels; the limits are \(cap / 1_000_000) megapixels and "
                    + "\(side) pixels per side. Scale the image down first.")
        }
    }

    private static func checkKind(_ header: JPEGHeader) throws(JPEGError) {
        guard header.process != .lossless, header.process != .hierarchical else {
            throw JPEGError(
                .unsupportedProcess,
                "The \(header.process) coding process is not supported. Save the image as a baseline JPEG first.")
        }
        guard header.precision == 8 else {
            throw JPEGError(
                .unsupportedPrecision,
                "The image has \(header.precision) bits per sample; only 8 are supported. "
                    + "Save it as a baseline JPEG first."
            )
        }
        guard header.colorModel != .unknown else {
            throw JPEGError(
                .unsupportedComponents,
                "The image has \(header.components.count) components; only 1, 3 or 4 are supported. Save it as gray or RGB first."
            )
        }
    }
}
