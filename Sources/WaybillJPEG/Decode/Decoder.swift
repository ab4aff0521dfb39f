import CWaybillJPEG

/// An owned libjpeg decoder: opened on bytes that do not move, and read one row group at a time.
@safe final class Decoder: RowSource {
    private let raw: OpaquePointer

    /// Opens a file; `eighths` is 8 for full size, 4 for half size.
    init(_ bytes: UnsafeBufferPointer<UInt8>, eighths: Int, flag: CancellationFlag) throws(JPEGError) {
        var status = wb_jpeg_status()
        guard
            let raw = unsafe wb_jpeg_decoder_open(
                bytes.baseAddress!, bytes.count, Int32(eighths), JPEGBounds.scans, JPEGBounds.decoderMemory, flag.raw,
                &status)
        else { throw JPEGError(status) }
        // At this point, a progressive file has been read to its end.
        if let damage = JPEGError(damageIn: status) {
            unsafe wb_jpeg_decoder_close(raw)
            throw damage
        }
        unsafe self.raw = raw
    }

    deinit { unsafe wb_jpeg_decoder_close(raw) }

    var shapes: [wb_jpeg_plane_shape] {
        unsafe (0..<wb_jpeg_decoder_plane_count(raw)).map { unsafe wb_jpeg_decoder_shape(raw, $0) }
    }

    /// The defects that were tolerated so far.
    var defects: ToleratedDefects { ToleratedDefects(unsafe wb_jpeg_decoder_status(raw)) }

    /// Decodes the next rows. Returns `false` when all rows were delivered and the file proved complete.
    func read() throws(JPEGError) -> Bool {
        var status = wb_jpeg_status()
        let result = unsafe wb_jpeg_decoder_read(raw, &status)
        guard result >= 0 else { throw JPEGError(status) }
        if let damage = JPEGError(damageIn: status) { throw damage }
        return result == 1
    }

    /// Passes each row of a plane from the last read to a closure.
    func forEachRow(of plane: Int, _ body: (UnsafePointer<UInt8>) -> Void) {
        for row in 0..<(unsafe wb_jpeg_decoder_row_count(raw, Int32(plane))) {
            unsafe body(wb_jpeg_decoder_row(raw, Int32(plane), row))
        }
    }
}
