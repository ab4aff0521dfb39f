import CWaybillJPEG

extension JPEGError {
    /// Creates an error from an error of the C layer.
    init(_ status: wb_jpeg_status) {
        let text = status.text
        switch Int(status.outcome) {
        case wb_jpeg_stopped: self = .stopped
        case wb_jpeg_scans_exceeded:
            self.init(
                .tooManyScans, "The image has more than \(JPEGBounds.scans) scans. Save it as a baseline JPEG first."
            )
        case wb_jpeg_memory_exceeded where status.code == 0: self = .noMemory
        case wb_jpeg_memory_exceeded:
            self.init(
                .tooManyPixels,
                "Decoding requires more than \(JPEGBounds.decoderMemory >> 20) MiB (\(text)). Save the image "
                    + "at a smaller size or as a baseline JPEG first.")
        default:
            // A truncated file may cause a libjpeg error before its end is reached.
            self =
                Self(damageIn: status)
                ?? .init(.corrupt, "libjpeg could not decode the image: \(text) (\(status.code)). \(Self.copyAgain)")
        }
    }

    private static let noMemory = JPEGError(.outOfMemory, "There is not enough memory. Process fewer images at once.")
    private static let copyAgain = "Copy it again, or save it with another program."

    /// Creates an error from libjpeg's warnings of damage: libjpeg fills in gray and continues; this module fails.
    init?(damageIn status: wb_jpeg_status) {
        if status.is_truncated != 0 {
            self.init(.truncated, "The file ends before the image does. Copy or download it again.")
        } else if status.damage_warnings != 0 {
            self.init(.corrupt, "The image data is damaged: \(status.text) (\(status.code)). \(Self.copyAgain)")
        } else {
            return nil
        }
    }
}

/// The defects of a file that do not affect its pixels.
struct ToleratedDefects {
    /// The number of stray bytes between segments, as far as the file was read.
    private(set) var strayBytes = 0
    /// Whether the file has no EOI marker.
    private(set) var isEndMissing = false
    /// The first row, as stored and at full size, that may be damaged.
    private(set) var firstDamagedRow: Int?

    init(isEndMissing: Bool = false) { self.isEndMissing = isEndMissing }

    init(_ status: wb_jpeg_status, firstDamagedRow: Int? = nil) {
        strayBytes = Int(status.stray_bytes)
        isEndMissing = status.is_end_missing != 0
        self.firstDamagedRow = firstDamagedRow
    }

    /// Adds those that were found when the same file was read again, perhaps further.
    mutating func formUnion(_ other: ToleratedDefects) {
        strayBytes = max(strayBytes, other.strayBytes)
        isEndMissing = isEndMissing || other.isEndMissing
        if let row = other.firstDamagedRow { firstDamagedRow = min(row, firstDamagedRow ?? row) }
    }
}

extension wb_jpeg_status {
    /// The message of libjpeg.
    var text: String {
        unsafe withUnsafeBytes(of: message) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
