import CWaybillJPEG

extension JPEGError {
    /// Creates an error from an error of the C layer.
    init(_ trouble: wb_jpeg_trouble) {
        let text = trouble.text
        switch Int(trouble.outcome) {
        case wb_jpeg_stopped: self = .stopped
        case wb_jpeg_scans_exceeded:
            self.init(
                .tooManyScans, "The picture has more than \(JPEGBounds.scans) scans; save it as an ordinary JPEG first."
            )
        case wb_jpeg_memory_exceeded:
            self.init(
                .tooManyPixels,
                "Decoding would need more than \(JPEGBounds.decoderMemory >> 20) MiB (\(text)); "
                    + "save the picture smaller or as a baseline JPEG first.")
        default:
            // A truncated file may cause a libjpeg error before its end is reached.
            self =
                Self(damageIn: trouble)
                ?? .init(.corrupt, "libjpeg can't decode the picture: \(text) (\(trouble.code)).")
        }
    }

    /// Creates an error from libjpeg's warnings of damage: libjpeg fills in gray and continues; this module fails.
    init?(damageIn trouble: wb_jpeg_trouble) {
        if trouble.is_truncated != 0 {
            self.init(.truncated, "The file ends before the picture does; it was not copied or sent whole.")
        } else if trouble.damage_warnings != 0 {
            self.init(.corrupt, "The picture data is damaged: \(trouble.text) (\(trouble.code)).")
        } else {
            return nil
        }
    }
}

extension wb_jpeg_trouble {
    /// The message of libjpeg.
    var text: String {
        unsafe withUnsafeBytes(of: message) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
