import CWaybillJPEG

/// A source of the planes of an image, a few rows at a time: Y, or Y, Cb, Cr.
protocol RowSource {
    var shapes: [wb_jpeg_plane_shape] { get }
    /// Produces the next rows. Returns `false` when all rows were delivered and the source proved complete.
    func read() throws(JPEGError) -> Bool
    /// Passes each row of a plane from the last read to a closure.
    func forEachRow(of plane: Int, _ body: (UnsafePointer<UInt8>) -> Void)
}

/// Splits uncompressed pixels into planes, row by row.
@safe final class PixelRows: RowSource {
    private let pixels: JPEGPixels
    private let flag: CancellationFlag
    private let planes: [Samples<UInt8>]
    private var row = 0

    /// Creates a row source. The pixels must have been validated.
    init(_ pixels: JPEGPixels, flag: CancellationFlag) {
        self.pixels = pixels
        self.flag = flag
        planes = (0..<(pixels.format == .grey ? 1 : 3)).map { _ in Samples(count: pixels.width) }
    }

    var shapes: [wb_jpeg_plane_shape] {
        let shape = wb_jpeg_plane_shape(
            width: Int32(pixels.width), height: Int32(pixels.height), pitch_x: 1, pitch_y: 1)
        return planes.map { _ in shape }
    }

    func read() throws(JPEGError) -> Bool {
        try flag.check()
        guard row < pixels.height else { return false }
        let offset = row * pixels.bytesPerRow
        unsafe pixels.bytes.withUnsafeBufferPointer { buffer in
            unsafe wb_jpeg_split_pixels(
                buffer.baseAddress! + offset, Int32(pixels.width), Int32(pixels.format.bytesPerPixel), planes[0].start,
                planes.count == 3 ? planes[1].start : nil, planes.count == 3 ? planes[2].start : nil)
        }
        row += 1
        return true
    }

    func forEachRow(of plane: Int, _ body: (UnsafePointer<UInt8>) -> Void) { unsafe body(planes[plane].start) }
}
