import CWaybillJPEG

/// A source of the planes of an image, a few rows at a time: Y, or Y, Cb, Cr.
protocol RowSource {
    var shapes: [wb_jpeg_plane_shape] { get }
    /// Produces the next rows. Returns `false` when all rows were delivered and the source proved complete.
    func read() throws(JPEGError) -> Bool
    /// Passes each row of a plane from the last read to a closure.
    func forEachRow(of plane: Int, _ body: (UnsafePointer<UInt8>) -> Void)
}

/// A source of rows of pixels, top row first: 8-bit gray, RGB or RGBA.
protocol PixelReader {
    var width: Int { get }
    var height: Int { get }
    /// 1, 3 or 4 bytes per pixel.
    var channels: Int { get }
    /// Passes the next row to a closure. Returns `false` when all rows were delivered and the source proved complete.
    func withNextRow(_ body: (UnsafePointer<UInt8>) -> Void) throws(JPEGError) -> Bool
}

/// Splits rows of pixels into planes.
@safe final class PixelRows: RowSource {
    let shapes: [wb_jpeg_plane_shape]
    private let reader: any PixelReader
    private let planes: [Samples<UInt8>]

    /// Creates a row source. The reader may have scaled down the image, whose size is `full`.
    init(_ reader: any PixelReader, full: PixelSize) {
        self.reader = reader
        let shape = wb_jpeg_plane_shape(
            width: Int32(reader.width), height: Int32(reader.height),
            pitch_x: Double(full.width) / Double(reader.width), pitch_y: Double(full.height) / Double(reader.height))
        planes = (0..<(reader.channels == 1 ? 1 : 3)).map { _ in Samples(count: reader.width) }
        shapes = planes.map { _ in shape }
    }

    func read() throws(JPEGError) -> Bool {
        try unsafe reader.withNextRow { row in
            unsafe wb_jpeg_split_pixels(
                row, Int32(reader.width), Int32(reader.channels), planes[0].start,
                planes.count == 3 ? planes[1].start : nil, planes.count == 3 ? planes[2].start : nil)
        }
    }

    func forEachRow(of plane: Int, _ body: (UnsafePointer<UInt8>) -> Void) { unsafe body(planes[plane].start) }
}

/// Reads the rows of an image in memory.
final class MemoryPixels: PixelReader {
    private let pixels: JPEGPixels
    private let flag: CancellationFlag
    private var row = 0

    /// Creates a reader. The pixels must have been validated.
    init(_ pixels: JPEGPixels, flag: CancellationFlag) {
        self.pixels = pixels
        self.flag = flag
    }

    var width: Int { pixels.width }
    var height: Int { pixels.height }
    var channels: Int { pixels.format.bytesPerPixel }

    func withNextRow(_ body: (UnsafePointer<UInt8>) -> Void) throws(JPEGError) -> Bool {
        try flag.check()
        guard row < height else { return false }
        unsafe pixels.bytes.withUnsafeBufferPointer { unsafe body($0.baseAddress! + row * pixels.bytesPerRow) }
        row += 1
        return true
    }
}
