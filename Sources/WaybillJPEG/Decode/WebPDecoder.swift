#if Images
    import CWaybillImages

    /// What is read of a WebP file before its pixels are decoded.
    struct WebPHeader {
        let width: Int
        let height: Int
        let hasAlpha: Bool
        let isLossless: Bool
        /// Whether libwebp keeps the pixels twice: the image is lossless, or lossy with transparency.
        var isKeptTwice: Bool { isLossless || hasAlpha }
        /// The data of the still image, or of the first frame of an animation.
        let frame: Range<Int>
        let orientation: Int
        let profile: ICCProfile?
        /// The names of the metadata.
        let metadata: [String]

        init(_ bytes: [UInt8]) throws(JPEGError) {
            var info = wb_webp_info()
            var status = wb_image_status()
            guard unsafe wb_webp_inspect(bytes, bytes.count, &info, &status) == 0 else {
                throw JPEGError(status, "libwebp")
            }
            (width, height) = (Int(info.width), Int(info.height))
            (hasAlpha, isLossless) = (info.has_alpha != 0, info.is_lossless != 0)
            frame = Self.range(info.frame)
            orientation = ExifOrientation.find(inChunk: bytes[Self.range(info.exif)]) ?? 1
            profile = info.profile.count > 0 ? ICCProfile(bytes[Self.range(info.profile)]) : nil
            let found = [
                ("Exif", info.exif.count > 0), ("XMP", info.xmp.count > 0), ("ICC profile", info.profile.count > 0),
                ("animation", info.is_animation != 0), ("trailing data", info.end < bytes.count),
            ]
            metadata = found.filter(\.1).map(\.0)
        }

        private static func range(_ range: wb_webp_range) -> Range<Int> { range.start..<range.start + range.count }
    }

    /// An owned libwebp decoder. Memory: all pixels of the decoded size, and 4 or 5 bytes per pixel of the image if it is
    /// lossless or transparent.
    @safe final class WebPDecoder: PixelReader {
        let width: Int
        let height: Int
        let channels: Int
        private let raw: OpaquePointer
        private let flag: CancellationFlag
        private var next: Int32 = 0
        private var finished: Int32 = 0
        private var isComplete = false

        /// Opens a frame that does not move, to be decoded at `eighths` of the full size.
        init(
            _ frame: UnsafeBufferPointer<UInt8>, _ header: WebPHeader, eighths: Int, flag: CancellationFlag
        ) throws(JPEGError) {
            width = max(1, header.width * eighths / 8)
            height = max(1, header.height * eighths / 8)
            channels = header.hasAlpha ? 4 : 3
            var status = wb_image_status()
            guard
                let raw = unsafe wb_webp_open(
                    frame.baseAddress!, frame.count, Int32(width), Int32(height), header.hasAlpha ? 1 : 0, &status)
            else { throw JPEGError(status, "libwebp") }
            unsafe self.raw = raw
            self.flag = flag
        }

        deinit { unsafe wb_webp_close(raw) }

        func withNextRow(_ body: (UnsafePointer<UInt8>) -> Void) throws(JPEGError) -> Bool {
            while next >= finished, !isComplete {
                try flag.check()
                var status = wb_image_status()
                let result = unsafe wb_webp_read(raw, &finished, &status)
                guard result >= 0 else { throw JPEGError(status, "libwebp") }
                isComplete = result == 0
            }
            guard next < height else { return false }
            unsafe body(wb_webp_row(raw, next))
            next += 1
            return true
        }
    }
#endif
