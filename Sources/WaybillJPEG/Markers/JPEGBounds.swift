/// The limits that are checked before libjpeg reads the file. A file of 206 bytes can declare 4,290 megapixels, and one
/// of 164 bytes makes a decoder request 490 MB.
enum JPEGBounds {
    static let inputBytes = 40_000_000
    static let side = 65_500
    static let pixels = 100_000_000
    static let progressivePixels = 40_000_000
    static let scans: Int32 = 100
    /// The limit for libjpeg's coefficient arrays, which progressive and non-interleaved files need.
    static let decoderMemory = 256 << 20

    static func check(_ header: JPEGHeader) throws(JPEGError) {
        try checkKind(header)
        let (width, height) = (header.width, header.height)
        guard width > 0, height > 0 else {
            throw JPEGError(
                .noPixels, "The picture is \(width) x \(height); a height given behind the data (DNL) is not read.")
        }
        let cap = header.process == .progressive ? progressivePixels : pixels
        guard width <= side, height <= side, width * height <= cap else {
            throw JPEGError(
                .tooManyPixels,
                "The picture announces \(width) x \(height) pixels; at most \(cap / 1_000_000) megapixels "
                    + "and \(side) a side are decoded.")
        }
    }

    private static func checkKind(_ header: JPEGHeader) throws(JPEGError) {
        guard header.process != .lossless, header.process != .hierarchical else {
            throw JPEGError(
                .unsupportedProcess,
                "The picture is coded by the \(header.process) process; save it as an ordinary JPEG first.")
        }
        guard header.precision == 8 else {
            throw JPEGError(
                .unsupportedPrecision,
                "The picture has \(header.precision) bits a sample; only 8 are read. Save it as an ordinary JPEG first."
            )
        }
        guard header.colorModel != .unknown else {
            throw JPEGError(
                .unsupportedComponents,
                "The picture has \(header.components.count) components; 1, 3 or 4 are read.")
        }
    }
}
