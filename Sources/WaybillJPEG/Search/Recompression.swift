import WaybillCore

/// The recompression of one image from input to output: validation, encoding, report.
struct Recompression {
    let input: JPEGInput
    let options: JPEGOptions
    let flag: CancellationFlag

    struct Outcome {
        var bytes: [UInt8]
        var size: PixelSize
        var factor: Double?
        var format = JPEGReport.Format.jpeg
        /// The error because of which the original is passed on with only its metadata removed.
        var failure: JPEGError.Code?
    }

    func run() throws(JPEGError) -> JPEGResult {
        let start = ThreadClock.now
        try options.check()
        try flag.check()
        switch input {
        case .bytes(let bytes): return try run(file: bytes, since: start)
        case .file(let path):
            return try run(file: PhotoFile.read(path, upTo: JPEGBounds.inputBytes), since: start)
        case .pixels(let pixels):
            try pixels.check()
            let source = ImageSource(pixels)
            let outcome = try Encoding(source: source, options: options, flag: flag).make()
            return result(source, outcome, since: start)
        }
    }

    /// Returns the input, validated and ready to be decoded.
    func source() throws(JPEGError) -> ImageSource {
        switch input {
        case .bytes(let bytes): return try source(bytes)
        case .file(let path): return try source(PhotoFile.read(path, upTo: JPEGBounds.inputBytes))
        case .pixels(let pixels):
            try pixels.check()
            return ImageSource(pixels)
        }
    }

    private func source(_ bytes: [UInt8]) throws(JPEGError) -> ImageSource {
        let source = try open(bytes)
        try source.check()
        return source
    }

    private func open(_ bytes: [UInt8]) throws(JPEGError) -> ImageSource {
        let source = try ImageSource(file: bytes, heicDecoder: options.heicDecoder, flag: flag)
        source.salvages = options.onFailure == .salvage
        return source
    }

    private func run(file bytes: [UInt8], since start: Duration) throws(JPEGError) -> JPEGResult {
        guard bytes.count <= JPEGBounds.inputBytes else {
            throw JPEGError(
                .tooManyBytes,
                "The file has \(bytes.count) bytes; the limit is \(JPEGBounds.inputBytes) bytes. Save a smaller image.")
        }
        let source = try open(bytes)
        do {
            try source.check()
            let outcome = try Encoding(source: source, options: options, flag: flag).make()
            return result(source, outcome, since: start)
        } catch {
            guard let original = original(source, after: error) else { throw error }
            return result(source, original, since: start)
        }
    }

    /// Returns the original without its metadata if this was requested and it is within the limits.
    private func original(_ source: ImageSource, after error: JPEGError) -> Outcome? {
        guard options.onFailure == .sendOriginal, error.code != .cancelled, error.code != .outOfMemory,
            let (bytes, header) = source.original
        else { return nil }
        let size = source.upright
        guard size.pixels > 0, options.largest(of: size) == size, let kept = MetadataStripper.strip(bytes, header),
            kept.count <= options.limit
        else { return nil }
        return Outcome(bytes: kept, size: size, factor: nil, failure: error.code)
    }

    private func result(_ source: ImageSource, _ outcome: Outcome, since start: Duration) -> JPEGResult {
        let size = source.upright
        var report = JPEGReport(
            format: outcome.format, originalBytes: source.byteCount, bytes: outcome.bytes.count,
            originalWidth: size.width,
            originalHeight: size.height, width: outcome.size.width, height: outcome.size.height,
            orientation: source.orientation, quantiserFactor: outcome.factor, cpuTime: .zero, stripped: [],
            strayBytes: source.defects.strayBytes, isEndMissing: source.defects.isEndMissing,
            damagedFraction: source.damagedFraction,
            isPassedThrough: outcome.factor == nil, failure: outcome.failure)
        report.stripped = source.metadata
        // A kept file still declares it.
        if outcome.format != .jpeg { report.stripped.removeAll { $0 == PNGHeader.colorSpace } }
        let isConverted = source.conversion != nil && outcome.factor != nil
        let name = source.profile.map { $0.name.isEmpty ? "unnamed" : $0.name }
        if isConverted { report.convertedProfile = name }
        if !isConverted, source.profile?.isSRGB != true { report.droppedProfile = name }
        report.cpuTime = ThreadClock.now - start
        return JPEGResult(bytes: outcome.bytes, report: report)
    }
}

extension JPEGOptions {
    /// The maximum number of bytes as an `Int`.
    var limit: Int { Int(clamping: maxBytes?.bytes ?? .max) }

    /// Returns the largest allowed output size for an image.
    func largest(of size: PixelSize) -> PixelSize { size.capped(atSide: maxSide).capped(atPixels: maxPixels) }
}
