import CWaybillJPEG

/// libjpeg's decoder, owned: opened on bytes that stay in place, pulled row group by row group.
@safe final class Decoder: RowSource {
    private let raw: OpaquePointer

    /// Opens a file; `eighths` is 8 for full size, 4 for half.
    init(_ bytes: UnsafeBufferPointer<UInt8>, eighths: Int, flag: StopFlag) throws(JPEGError) {
        var trouble = wb_jpeg_trouble()
        guard
            let raw = unsafe wb_jpeg_decoder_open(
                bytes.baseAddress!, bytes.count, Int32(eighths), JPEGBounds.scans, JPEGBounds.decoderMemory, flag.raw,
                &trouble)
        else { throw JPEGError(trouble) }
        // A progressive file has been read to its end by now.
        if let damage = JPEGError(damageIn: trouble) {
            unsafe wb_jpeg_decoder_close(raw)
            throw damage
        }
        unsafe self.raw = raw
    }

    deinit { unsafe wb_jpeg_decoder_close(raw) }

    var shapes: [wb_jpeg_plane_shape] {
        unsafe (0..<wb_jpeg_decoder_plane_count(raw)).map { unsafe wb_jpeg_decoder_shape(raw, $0) }
    }

    /// Bytes between segments that belonged to nothing, so far.
    var strayBytes: Int { unsafe Int(wb_jpeg_decoder_stray_bytes(raw)) }

    /// Decodes the next rows; `false` when all rows were given and the file turned out whole.
    func read() throws(JPEGError) -> Bool {
        var trouble = wb_jpeg_trouble()
        let answer = unsafe wb_jpeg_decoder_read(raw, &trouble)
        guard answer >= 0 else { throw JPEGError(trouble) }
        if let damage = JPEGError(damageIn: trouble) { throw damage }
        return answer == 1
    }

    /// Gives the rows of one plane that the last read brought.
    func forEachRow(of plane: Int, _ body: (UnsafePointer<UInt8>) -> Void) {
        for row in 0..<(unsafe wb_jpeg_decoder_row_count(raw, Int32(plane))) {
            unsafe body(wb_jpeg_decoder_row(raw, Int32(plane), row))
        }
    }
}
