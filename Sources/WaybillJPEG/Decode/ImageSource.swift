/// An image that can be decoded repeatedly at any size.
final class ImageSource {
    enum Content {
        case file([UInt8], JPEGHeader)
        case pixels(JPEGPixels)
    }

    let content: Content
    /// The width and height as stored, before the orientation is applied.
    let stored: PixelSize
    let orientation: Int
    /// The size of the input in bytes.
    let byteCount: Int
    /// The conversion of the colors to sRGB, if they need one.
    let conversion: GamutConversion?
    /// The tolerated defects, as far as the file was read.
    var defects = ToleratedDefects()

    /// Creates a source from a file whose header has been checked against the bounds.
    init(file bytes: [UInt8], _ header: JPEGHeader) {
        content = .file(bytes, header)
        stored = PixelSize(width: header.width, height: header.height)
        orientation = header.orientation
        byteCount = bytes.count
        let isColour = header.colorModel == .yCbCr || header.colorModel == .rgb
        conversion = isColour ? header.profile?.matrix.flatMap(GamutConversion.init) : nil
    }

    /// Creates a source from pixels that have been validated.
    init(_ pixels: JPEGPixels) {
        content = .pixels(pixels)
        stored = PixelSize(width: pixels.width, height: pixels.height)
        orientation = 1
        byteCount = pixels.bytes.count
        conversion = nil
    }

    /// The upright size.
    var upright: PixelSize { stored.turned(orientation) }

    /// Opens the source for a closure. libjpeg decodes at `eighths` of the full size; pixels are unchanged.
    func withRows(
        eighths: Int, flag: CancellationFlag, _ body: (any RowSource) throws(JPEGError) -> Void
    ) throws(JPEGError) {
        switch content {
        case .file(let bytes, _):
            try unsafe bytes.withUnsafeBufferPointer { buffer throws(JPEGError) in
                let decoder = try unsafe Decoder(buffer, eighths: eighths, flag: flag)
                try body(decoder)
                defects.formUnion(decoder.defects)
            }
        case .pixels(let pixels): try body(PixelRows(pixels, flag: flag))
        }
    }
}
