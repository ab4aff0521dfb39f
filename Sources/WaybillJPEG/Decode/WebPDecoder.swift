#if Images
    import CWaybillImages

    /// What is read of a WebP file before its pixels are decoded.
    struct WebPHeader {
        /// The size of the still image, or of the whole animation.
        let width: Int
        let height: Int
        /// The place of the first frame of an animation, which may be a part of it.
        let left: Int
        let top: Int
        let frameWidth: Int
        let frameHeight: Int
        let hasAlpha: Bool
        let isLossless: Bool
        /// Whether libwebp keeps the pixels twice: the image is lossless, or lossy with transparency.
        var isKeptTwice: Bool { isLossless || hasAlpha }
        /// Whether the first frame covers only a part of the animation.
        var isPartial: Bool { (frameWidth, frameHeight) != (width, height) }
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
            (left, top) = (Int(info.left), Int(info.top))
            (frameWidth, frameHeight) = (Int(info.frame_width), Int(info.frame_height))
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
        private let top: Int32
        private let frameHeight: Int32
        /// The rows beside a partial frame, white, and the one that contains a row of it.
        private let margin: (blank: Samples<UInt8>, row: Samples<UInt8>, start: Int, count: Int)?

        /// Opens a frame that does not move, to be decoded at `eighths` of the full size; a partial frame at full size
        /// only. It is placed on white.
        init(
            _ frame: UnsafeBufferPointer<UInt8>, _ header: WebPHeader, eighths: Int, flag: CancellationFlag
        ) throws(JPEGError) {
            precondition(eighths == 8 || !header.isPartial)
            width = max(1, header.width * eighths / 8)
            height = max(1, header.height * eighths / 8)
            channels = header.hasAlpha ? 4 : 3
            let frameWidth = header.isPartial ? header.frameWidth : width
            frameHeight = Int32(header.isPartial ? header.frameHeight : height)
            top = Int32(header.top)
            margin =
                header.isPartial
                ? (
                    Samples(repeating: 255, count: width * channels), Samples(repeating: 255, count: width * channels),
                    header.left * channels, frameWidth * channels
                ) : nil
            var status = wb_image_status()
            guard
                let raw = unsafe wb_webp_open(
                    frame.baseAddress!, frame.count, Int32(frameWidth), frameHeight, header.hasAlpha ? 1 : 0, &status)
            else { throw JPEGError(status, "libwebp") }
            unsafe self.raw = raw
            self.flag = flag
        }

        deinit { unsafe wb_webp_close(raw) }

        func withNextRow(_ body: (UnsafePointer<UInt8>) -> Void) throws(JPEGError) -> Bool {
            while next - top >= finished, !isComplete {
                try flag.check()
                var status = wb_image_status()
                let result = unsafe wb_webp_read(raw, &finished, &status)
                guard result >= 0 else { throw JPEGError(status, "libwebp") }
                isComplete = result == 0
            }
            guard next < height else { return false }
            defer { next += 1 }
            let row = next - top
            if let margin, (0..<frameHeight).contains(row) {
                unsafe (margin.row.start + margin.start).update(from: wb_webp_row(raw, row), count: margin.count)
                unsafe body(margin.row.start)
            } else if let margin {
                unsafe body(margin.blank.start)
            } else {
                unsafe body(wb_webp_row(raw, row))
            }
            return true
        }
    }
#endif
