/// An image that can be decoded repeatedly at any size.
final class ImageSource {
    enum Content {
        case jpeg([UInt8], JPEGHeader)
        #if Images
            case png([UInt8], PNGHeader)
            case webP([UInt8], WebPHeader)
        #endif
        case pixels(JPEGPixels)
    }

    let content: Content
    /// The width and height as stored, before the orientation is applied.
    let stored: PixelSize
    private(set) var orientation: Int
    /// The size of the input in bytes.
    private(set) var byteCount: Int
    /// Whether an external decoder made the file, so that it is not an original that could be kept.
    private(set) var isConverted = false
    /// The embedded color profile.
    let profile: ICCProfile?
    /// The conversion of the colors to sRGB, if they need one.
    let conversion: GamutConversion?
    /// Whether damage after the first rows is a defect instead of an error.
    var salvages = false
    /// The tolerated defects, as far as the file was read.
    var defects = ToleratedDefects()

    /// Creates a source from a file in memory. Only its header is read, unless it is a HEIC image, which an external
    /// decoder converts; its size is not checked.
    convenience init(
        file bytes: [UInt8], heicDecoder: ExternalDecoder? = nil, flag: CancellationFlag = CancellationFlag()
    ) throws(JPEGError) {
        switch try ImageFormat(of: bytes, decodesHEIC: heicDecoder != nil) {
        case .heic:
            let converted = try DecoderProcess(decoder: heicDecoder!, flag: flag).run(bytes)
            do throws(JPEGError) {
                try self.init(file: converted)
            } catch {
                throw JPEGError(
                    .decoderFailed, "\(heicDecoder!.program) wrote an unusable image: \(error.message)", cause: error)
            }
            byteCount = bytes.count
            isConverted = true
            // Decoders turn the image as the file says, but heif-convert copies the orientation of its Exif data, too.
            orientation = 1
        case .jpeg: self.init(bytes, try JPEGHeader(parsing: bytes))
        #if Images
            case .png: try self.init(bytes, PNGHeader(bytes))
            case .webP: try self.init(bytes, WebPHeader(bytes))
        #else
            case .png, .webP: preconditionFailure("Formats that are not enabled are not recognized.")
        #endif
        }
    }

    /// Creates a source from a JPEG file.
    convenience init(_ bytes: [UInt8], _ header: JPEGHeader) {
        self.init(
            .jpeg(bytes, header), PixelSize(width: header.width, height: header.height), header.orientation,
            bytes.count, header.profile, isRGB: header.colorModel == .yCbCr || header.colorModel == .rgb)
    }

    #if Images
        private convenience init(_ bytes: [UInt8], _ header: PNGHeader) throws(JPEGError) {
            let size = PixelSize(width: header.width, height: header.height)
            var profile: ICCProfile?
            if header.metadata.contains("ICC profile"), (try? JPEGBounds.check(header)) != nil {
                // The profile is compressed, and libpng decompresses it. It rejects damaged ones and those of another
                // color space, which are reported without a name.
                profile = try unsafe bytes.withUnsafeBufferPointer { buffer throws(JPEGError) in
                    try unsafe PNGDecoder(buffer, flag: CancellationFlag()).profile
                        ?? ICCProfile([])
                }
            }
            self.init(.png(bytes, header), size, header.orientation, bytes.count, profile)
        }

        private convenience init(_ bytes: [UInt8], _ header: WebPHeader) {
            self.init(
                .webP(bytes, header), PixelSize(width: header.width, height: header.height), header.orientation,
                bytes.count, header.profile)
        }
    #endif

    /// Creates a source from pixels that have been validated.
    convenience init(_ pixels: JPEGPixels) {
        self.init(.pixels(pixels), PixelSize(width: pixels.width, height: pixels.height), 1, pixels.bytes.count, nil)
    }

    private init(
        _ content: Content, _ stored: PixelSize, _ orientation: Int, _ byteCount: Int, _ profile: ICCProfile?,
        isRGB: Bool = true
    ) {
        self.content = content
        self.stored = stored
        self.orientation = orientation
        self.byteCount = byteCount
        self.profile = profile
        conversion = isRGB ? profile?.matrix.flatMap(GamutConversion.init) : nil
    }

    /// The upright size.
    var upright: PixelSize { stored.turned(orientation) }

    /// The JPEG file that the input is, or `nil`.
    var original: (bytes: [UInt8], header: JPEGHeader)? {
        if case .jpeg(let bytes, let header) = content, !isConverted { (bytes, header) } else { nil }
    }

    /// Returns the PNG or WebP file that the input is, without its metadata, if it fits the limit. It must be decoded to be
    /// verified.
    func keptFormat(limit: Int) -> (bytes: [UInt8], format: JPEGReport.Format)? {
        // Files in these formats are turned or converted only by decoding them.
        guard !isConverted, orientation == 1, conversion == nil else { return nil }
        #if Images
            switch content {
            case .png(let bytes, _): return FormatKeeper.strip(png: bytes, limit: limit).map { ($0, .png) }
            case .webP(let bytes, _): return FormatKeeper.strip(webP: bytes, limit: limit).map { ($0, .webP) }
            case .jpeg, .pixels: return nil
            }
        #else
            return nil
        #endif
    }

    /// The number of bytes that the output need not exceed: a JPEG file never grows.
    var largestOutput: Int { original == nil ? .max : byteCount }

    /// The part of the image that may be damaged.
    var damagedFraction: Double {
        defects.firstDamagedRow.map { 1 - Double(min($0, stored.height)) / Double(stored.height) } ?? 0
    }

    /// Whether the decoder can scale down, so that it decodes in less time and memory.
    var scalesWhileDecoding: Bool {
        switch content {
        case .jpeg: true
        #if Images
            case .png: false
            // libwebp scales colors and transparency apart, so that colors of transparent pixels would show.
            case .webP(_, let header): !header.isPartial && (header.isLossless || !header.hasAlpha)
        #endif
        case .pixels: false
        }
    }

    /// The names of the metadata that the output lacks, each once.
    var metadata: [String] {
        switch content {
        case .jpeg(let bytes, let header): MetadataStripper.names(bytes, header)
        #if Images
            case .png(_, let header): header.metadata
            case .webP(_, let header): header.metadata
        #endif
        case .pixels: []
        }
    }

    /// Throws if the image exceeds the limits, or is of an unsupported kind.
    func check() throws(JPEGError) {
        switch content {
        case .jpeg(_, let header): try JPEGBounds.check(header)
        #if Images
            case .png(_, let header): try JPEGBounds.check(header)
            case .webP(let bytes, let header): try JPEGBounds.check(header, bytes)
        #endif
        case .pixels(let pixels): try pixels.check()
        }
    }

    /// Opens the source for a closure. The decoder may scale to `eighths` of the full size.
    func withRows(
        eighths: Int, flag: CancellationFlag, _ body: (any RowSource) throws(JPEGError) -> Void
    ) throws(JPEGError) {
        switch content {
        case .jpeg(let bytes, _):
            try unsafe bytes.withUnsafeBufferPointer { buffer throws(JPEGError) in
                let decoder = try unsafe Decoder(buffer, eighths: eighths, salvages: salvages, flag: flag)
                try body(decoder)
                defects.formUnion(decoder.defects)
            }
        #if Images
            case .png(let bytes, _):
                try unsafe bytes.withUnsafeBufferPointer { buffer throws(JPEGError) in
                    let decoder = try unsafe PNGDecoder(buffer, flag: flag)
                    try body(PixelRows(decoder, full: stored))
                    defects.formUnion(ToleratedDefects(isEndMissing: decoder.isEndMissing))
                }
            case .webP(let bytes, let header):
                try unsafe bytes.withUnsafeBufferPointer { buffer throws(JPEGError) in
                    let frame = unsafe UnsafeBufferPointer(rebasing: buffer[header.frame])
                    try body(
                        PixelRows(unsafe WebPDecoder(frame, header, eighths: eighths, flag: flag), full: stored))
                }
        #endif
        case .pixels(let pixels): try body(PixelRows(MemoryPixels(pixels, flag: flag), full: stored))
        }
    }
}
