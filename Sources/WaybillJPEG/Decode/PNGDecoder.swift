#if Images
    import CWaybillImages

    /// An owned libpng decoder. Memory: one row; all rows if the image is interlaced.
    @safe final class PNGDecoder: PixelReader {
        let width: Int
        let height: Int
        let channels: Int
        private let raw: OpaquePointer
        private let flag: CancellationFlag

        /// Opens a file that does not move.
        init(_ bytes: UnsafeBufferPointer<UInt8>, flag: CancellationFlag) throws(JPEGError) {
            var status = wb_image_status()
            guard let raw = unsafe wb_png_open(bytes.baseAddress!, bytes.count, &status) else {
                throw JPEGError(status, "libpng")
            }
            width = Int(unsafe wb_png_width(raw))
            height = Int(unsafe wb_png_height(raw))
            channels = Int(unsafe wb_png_channels(raw))
            unsafe self.raw = raw
            self.flag = flag
        }

        deinit { unsafe wb_png_close(raw) }

        /// The embedded color profile, as far as libpng accepts it.
        var profile: ICCProfile? {
            var count = 0
            guard let start = unsafe wb_png_profile(raw, &count) else { return nil }
            return unsafe ICCProfile(Array(UnsafeBufferPointer(start: start, count: count))[...])
        }

        var isEndMissing: Bool { unsafe wb_png_is_end_missing(raw) != 0 }

        func withNextRow(_ body: (UnsafePointer<UInt8>) -> Void) throws(JPEGError) -> Bool {
            while true {
                try flag.check()
                var status = wb_image_status()
                var row: UnsafePointer<UInt8>?
                switch unsafe wb_png_read(raw, &row, &status) {
                case 0: return false
                case 1:
                    unsafe body(row!)
                    return true
                case 2: continue
                default: throw JPEGError(status, "libpng")
                }
            }
        }
    }

    extension JPEGError {
        /// Creates an error from an error of libpng or libwebp.
        init(_ status: wb_image_status, _ library: String) {
            let text = unsafe withUnsafeBytes(of: status.message) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            switch Int(status.outcome) {
            case wb_image_truncated:
                self.init(.truncated, "The file ends before the image does. Copy or download it again.")
            case wb_image_memory_exceeded:
                self.init(.outOfMemory, "There is not enough memory to decode the image (\(text)).")
            default: self.init(.corrupt, "\(library) could not decode the image: \(text).")
            }
        }
    }
#endif
