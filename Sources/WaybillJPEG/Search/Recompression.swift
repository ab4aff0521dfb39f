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
        case .bytes(let bytes): return ImageSource(file: bytes, try Self.header(of: bytes))
        case .file(let path):
            let bytes = try PhotoFile.read(path, upTo: JPEGBounds.inputBytes)
            return ImageSource(file: bytes, try Self.header(of: bytes))
        case .pixels(let pixels):
            try pixels.check()
            return ImageSource(pixels)
        }
    }

    private static func header(of bytes: [UInt8]) throws(JPEGError) -> JPEGHeader {
        let header = try JPEGHeader(parsing: bytes)
        try JPEGBounds.check(header)
        return header
    }

    private func run(file bytes: [UInt8], since start: Duration) throws(JPEGError) -> JPEGResult {
        guard bytes.count <= JPEGBounds.inputBytes else {
            throw JPEGError(
                .tooManyBytes, "The file has \(bytes.count) bytes; the limit is \(JPEGBounds.inputBytes).")
        }
        let header = try JPEGHeader(parsing: bytes)
        let source = ImageSource(file: bytes, header)
        do {
            try JPEGBounds.check(header)
            let outcome = try Encoding(source: source, options: options, flag: flag).make()
            return result(source, outcome, since: start)
        } catch {
            guard let original = original(bytes, header, after: error) else { throw error }
            return result(source, original, since: start)
        }
    }

    /// Returns the original without its metadata if this was requested and it is within the limits.
    private func original(_ bytes: [UInt8], _ header: JPEGHeader, after error: JPEGError) -> Outcome? {
        guard options.onFailure == .sendOriginal, error.code != .cancelled, error.code != .outOfMemory else {
            return nil
        }
        let size = PixelSize(width: header.width, height: header.height).turned(header.orientation)
        guard size.pixels > 0, options.largest(of: size) == size, let kept = MetadataStripper.strip(bytes, header),
            kept.count <= options.limit
        else { return nil }
        return Outcome(bytes: kept, size: size, factor: nil, failure: error.code)
    }

    private func result(_ source: ImageSource, _ outcome: Outcome, since start: Duration) -> JPEGResult {
        let size = source.upright
        var report = JPEGReport(
            originalBytes: source.byteCount, bytes: outcome.bytes.count, originalWidth: size.width,
            originalHeight: size.height, width: outcome.size.width, height: outcome.size.height,
            orientation: source.orientation, quantiserFactor: outcome.factor, cpuTime: .zero, stripped: [],
            strayBytes: source.defects.strayBytes, isEndMissing: source.defects.isEndMissing,
            isPassedThrough: outcome.factor == nil, failure: outcome.failure)
        if case .file(let bytes, let header) = source.content {
            report.stripped = Self.stripped(bytes, header)
            let isConverted = source.conversion != nil && outcome.factor != nil
            let name = header.profileName.map { $0.isEmpty ? "unnamed" : $0 }
            if isConverted { report.convertedProfile = name }
            if !isConverted, header.profile?.isSRGB != true { report.droppedProfile = name }
        }
        report.cpuTime = ThreadClock.now - start
        return JPEGResult(bytes: outcome.bytes, report: report)
    }

    private static func stripped(_ bytes: [UInt8], _ header: JPEGHeader) -> [String] {
        var names: [String] = []
        for segment in header.segments where segment.name != "JFIF" && !names.contains(segment.name) {
            names.append(segment.name)
        }
        if let end = MetadataStripper.walk(bytes, { _, _ in }), end < bytes.count { names.append("trailing data") }
        return names
    }
}

extension JPEGOptions {
    /// The maximum number of bytes as an `Int`.
    var limit: Int { Int(clamping: maxBytes?.bytes ?? .max) }

    /// Returns the largest allowed output size for an image.
    func largest(of size: PixelSize) -> PixelSize { size.capped(atSide: maxSide).capped(atPixels: maxPixels) }
}
