import CWaybillJPEG
import WaybillCore

/// An owned libjpeg decoder: opened on bytes that do not move, and read one row group at a time.
@safe final class Decoder: RowSource {
    private let raw: OpaquePointer
    private let salvages: Bool
    private let endsWithZeros: Bool
    /// The number of rows of luma that were read.
    private var rows = 0
    private var firstDamagedRow: Int?

    /// Opens a file; `eighths` is 8 for full size, 4 for half size. With `salvages`, damage after the first rows of a
    /// sequential file is reported as a defect instead of an error.
    init(
        _ bytes: UnsafeBufferPointer<UInt8>, eighths: Int, salvages: Bool = false, flag: CancellationFlag
    ) throws(JPEGError) {
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
        self.salvages = salvages
        endsWithZeros = unsafe bytes.count > 64 && bytes.suffix(64).allSatisfy { $0 == 0 }
    }

    deinit { unsafe wb_jpeg_decoder_close(raw) }

    var shapes: [wb_jpeg_plane_shape] {
        unsafe (0..<wb_jpeg_decoder_plane_count(raw)).map { unsafe wb_jpeg_decoder_shape(raw, $0) }
    }

    /// The defects that were tolerated so far.
    var defects: ToleratedDefects {
        ToleratedDefects(unsafe wb_jpeg_decoder_status(raw), firstDamagedRow: firstDamagedRow)
    }

    /// Decodes the next rows. Returns `false` when all rows were delivered and the file proved complete.
    func read() throws(JPEGError) -> Bool {
        var status = wb_jpeg_status()
        let result = unsafe wb_jpeg_decoder_read(raw, &status)
        guard result >= 0 else { throw JPEGError(status) }
        if let damage = JPEGError(damageIn: status), firstDamagedRow == nil {
            guard rows > 0 else { throw damage }
            guard salvages else { throw JPEGError(damage.code, "\(damage.message) \(Remedy.salvageImage)") }
            // Where data is missing is known. Other damage is noticed only some time after it began, and so are zeros
            // instead of data, as an incomplete download leaves them.
            let isCut = damage.code == .truncated && !endsWithZeros
            firstDamagedRow = isCut ? Int(Double(rows) * shapes[0].pitch_y) : 0
        }
        rows += Int(unsafe wb_jpeg_decoder_row_count(raw, 0))
        return result == 1
    }

    /// Passes each row of a plane from the last read to a closure.
    func forEachRow(of plane: Int, _ body: (UnsafePointer<UInt8>) -> Void) {
        for row in 0..<(unsafe wb_jpeg_decoder_row_count(raw, Int32(plane))) {
            unsafe body(wb_jpeg_decoder_row(raw, Int32(plane), row))
        }
    }
}
