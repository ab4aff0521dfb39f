/// A picture that can be decoded as often as it is asked for, at any size.
final class PictureSource {
    enum Content {
        case file([UInt8], JPEGHeader)
        case pixels(JPEGPixels)
    }

    let content: Content
    /// Width and height as stored, before the orientation is applied.
    let stored: PictureSize
    let orientation: Int
    /// How many bytes there are to begin with.
    let byteCount: Int
    /// How its colours become sRGB, where they are not.
    let conversion: GamutConversion?
    /// Bytes between segments that belonged to nothing, as far as was read.
    private(set) var strayBytes = 0

    /// Takes a file whose header was found to be within bounds.
    init(file bytes: [UInt8], _ header: JPEGHeader) {
        content = .file(bytes, header)
        stored = PictureSize(width: header.width, height: header.height)
        orientation = header.orientation
        byteCount = bytes.count
        let isColour = header.colorModel == .yCbCr || header.colorModel == .rgb
        conversion = isColour ? header.profile?.matrix.flatMap(GamutConversion.init) : nil
    }

    /// Takes pixels that were found to be enough.
    init(_ pixels: JPEGPixels) {
        content = .pixels(pixels)
        stored = PictureSize(width: pixels.width, height: pixels.height)
        orientation = 1
        byteCount = pixels.bytes.count
        conversion = nil
    }

    /// The size when upright.
    var upright: PictureSize { stored.turned(orientation) }

    /// Opens the source and hands it on. libjpeg decodes at `eighths` of the full size; pixels come as they are.
    func withRows(
        eighths: Int, flag: StopFlag, _ body: (any RowSource) throws(JPEGError) -> Void
    ) throws(JPEGError) {
        switch content {
        case .file(let bytes, _):
            try unsafe bytes.withUnsafeBufferPointer { buffer throws(JPEGError) in
                let decoder = try unsafe Decoder(buffer, eighths: eighths, flag: flag)
                try body(decoder)
                note(strayBytes: decoder.strayBytes)
            }
        case .pixels(let pixels): try body(PixelRows(pixels, flag: flag))
        }
    }

    func note(strayBytes count: Int) { strayBytes = max(strayBytes, count) }
}
