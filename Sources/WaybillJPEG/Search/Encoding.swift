/// Selects the method to make an image fit: keep its coefficients, encode at a quality, or search.
struct Encoding {
    typealias Outcome = Recompression.Outcome

    let source: ImageSource
    let options: JPEGOptions
    let flag: CancellationFlag
    /// Larger images are encoded while they are decoded, with a single scan script, to save memory.
    var streamedPixels = 3e6

    /// The quality if none was requested and the coefficients cannot be kept.
    private static let defaultQuality = 90

    func make() throws(JPEGError) -> Outcome {
        let full = source.upright
        let largest = options.largest(of: full)
        if let maxPixels = options.maxPixels, largest.longSide < min(options.minSide ?? 0, full.longSide) {
            throw JPEGError(
                .invalidOptions,
                "A limit of \(maxPixels) pixels reduces the image to \(largest.width) x \(largest.height), but "
                    + "its longer side must have at least \(options.minSide ?? 0). Allow more pixels or a shorter side."
            )
        }
        if options.quality == nil, largest == full, let kept = try passThrough(limit: options.limit) { return kept }
        if let quality = options.quality ?? (options.maxBytes == nil ? Self.defaultQuality : nil),
            let encoded = try encode(largest, quality: quality, limit: min(options.limit, source.largestOutput))
        {
            // At high quality, the input's own coefficients may take fewer bytes, and they are exact.
            guard largest == full, encoded.bytes.count > source.byteCount / 2,
                let kept = try passThrough(limit: encoded.bytes.count)
            else { return encoded }
            return kept
        }
        if options.quality != nil, largest == full, let kept = try passThrough(limit: options.limit) { return kept }
        do {
            return try search(largest)
        } catch {
            guard error.code == .cannotReachLimit, largest == full, let smallest = error.smallestBytes,
                // The coefficients of a tiny file may need fewer bytes than every new encoding.
                let kept = try passThrough(limit: smallest - 1)
            else { throw error }
            guard kept.bytes.count > options.limit else { return kept }
            throw SearchRules(limit: options.limit, options: options).unreachable(kept.bytes.count, at: full)
        }
    }

    /// Returns a file with the input's own coefficients or pixels if it fits.
    private func passThrough(limit: Int) throws(JPEGError) -> Outcome? {
        do throws(JPEGError) {
            if let (bytes, header) = source.original {
                return try passThrough(bytes, header, limit: limit).map { Outcome(bytes: $0, size: source.upright) }
            }
            guard options.keepsFormat, let (bytes, format) = source.keptFormat(limit: limit) else { return nil }
            try source.withRows(eighths: 8, flag: flag) { rows throws(JPEGError) in while try rows.read() {} }
            return Outcome(bytes: bytes, size: source.upright, format: format)
        } catch {
            // Damaged data is not kept; decoding finds how much is intact, and whether that is an error.
            guard error.code == .truncated || error.code == .corrupt else { throw error }
            return nil
        }
    }

    private func passThrough(_ bytes: [UInt8], _ header: JPEGHeader, limit: Int) throws(JPEGError) -> [UInt8]? {
        // Coefficients cannot be kept if the colors must be converted.
        guard source.conversion == nil else { return nil }
        let metadata = header.segments.reduce(0) { $0 + $1.byteCount }
        // Better scan scripts and Huffman tables save up to a fifth.
        guard Double(bytes.count - metadata) * 0.8 <= Double(limit) else { return nil }
        let kept = try PassThrough(source: source, input: bytes, header: header, mode: options.mode, flag: flag).run()
        return kept.flatMap { $0.count <= limit ? $0 : nil }
    }

    /// Encodes the image at a quality; returns `nil` if the result exceeds the limit.
    private func encode(_ size: PixelSize, quality: Int, limit: Int) throws(JPEGError) -> Outcome? {
        let rules = SearchRules(limit: limit, options: options)
        let factor = QuantiserTable.factor(quality: quality)
        if size.pixels > streamedPixels {
            return try stream(size, factor: factor, rules).map { Outcome(bytes: $0, size: size, factor: factor) }
        }
        let loaded = try load(size, eighths: 8, isLinear: options.isDocument)
        let image = try CoefficientImage(
            loaded, width: size.width, height: size.height, isLinear: options.isDocument, flag: flag)
        // Skip the trellis and the writing if the estimate exceeds the limit by far.
        let counts = SymbolCounts(image, QuantiserTable(factor: factor), rounding: rules.quantiser.rounding)
        guard counts.bytes() * 0.6 < Double(limit) else { return nil }
        let levels = try QuantisedImage(image, factor: factor, quantiser: rules.quantiser, flag: flag)
        var smallest: [UInt8]?
        for script in rules.scripts {
            let bytes = try JPEGWriter.write(levels, image, script: script, flag: flag)
            if bytes.count < smallest?.count ?? .max { smallest = bytes }
        }
        guard let smallest, smallest.count <= limit else { return nil }
        return Outcome(bytes: smallest, size: size, factor: factor)
    }

    private func stream(_ size: PixelSize, factor: Double, _ rules: SearchRules) throws(JPEGError) -> [UInt8]? {
        var encoder: StreamedEncoder?
        var blockRows: [BlockRow] = []
        func begin(_ shapes: [(width: Int, height: Int)]) throws(JPEGError) {
            let newEncoder = try StreamedEncoder(
                size, componentCount: shapes.count, factor: factor, quantiser: rules.quantiser, limit: rules.limit,
                flag: flag)
            blockRows = shapes.enumerated().map {
                newEncoder.rows(of: $0.offset, width: $0.element.width, height: $0.element.height)
            }
            encoder = newEncoder
        }
        if source.orientation == 1, source.conversion == nil {
            let loader = ImageLoader(source: source, isLinear: options.isDocument, flag: flag)
            try unsafe loader.stream(size, eighths: 8) { resamplers throws(JPEGError) in
                try begin(resamplers.map { ($0.outputWidth, $0.outputHeight) })
            } emit: { plane, row, number in
                unsafe blockRows[plane].append(row, at: number)
            }
        } else {
            // Rotation needs the whole image.
            let loaded = try load(size, eighths: 8, isLinear: options.isDocument)
            let planes = [loaded.luma] + loaded.chroma
            try begin(planes.map { ($0.width, $0.height) })
            let row = Samples<Float>(count: size.width)
            for (plane, blockRow) in zip(planes, blockRows) {
                for number in 0..<plane.height {
                    unsafe plane.read(number, into: row.start)
                    unsafe blockRow.append(row.start, at: number)
                }
                try flag.check()
            }
        }
        return try encoder?.finish()
    }

    private func search(_ largest: PixelSize) throws(JPEGError) -> Outcome {
        do {
            // An image that already fits never grows.
            return try search(largest, within: min(options.limit, source.largestOutput))
        } catch {
            guard error.code == .cannotReachLimit, source.largestOutput < options.limit else { throw error }
            return try search(largest, within: options.limit)
        }
    }

    private func search(_ largest: PixelSize, within limit: Int) throws(JPEGError) -> Outcome {
        var search = LimitSearch(options, limit: limit, largest: largest, flag: flag) {
            [self] rules throws(JPEGError) in
            let eighths = decodingEighths(rules)
            var kept =
                largest.pixels > 1.2 * rules.intermediatePixels
                ? largest.shrunk(toPixels: rules.intermediatePixels) : largest
            if eighths < 8 { kept = kept.shrunk(toPixels: source.stored.pixels * Double(eighths * eighths) / 64) }
            return try load(kept, eighths: eighths, isLinear: rules.isDocument)
        }
        let encoded = try search.run()
        return Outcome(bytes: encoded.bytes, size: encoded.size, factor: encoded.factor)
    }

    /// Returns 4 if half the size suffices for the target: libjpeg then decodes in two thirds of the time. Returns 2 if
    /// a quarter suffices.
    private func decodingEighths(_ rules: SearchRules) -> Int {
        // Decoders do not scale in linear light.
        guard source.scalesWhileDecoding, !rules.isDocument else { return 8 }
        let pixels = source.stored.pixels
        if options.mode == .draft {
            return pixels >= 7.5e6 && pixels / 4 >= max(rules.floorPixels, 1.5 * rules.trialPixels) ? 4 : 8
        }
        if pixels / 16 >= rules.intermediatePixels { return 2 }
        return pixels > 16.5e6 && pixels / 4 >= rules.intermediatePixels ? 4 : 8
    }

    private func load(_ size: PixelSize, eighths: Int, isLinear: Bool) throws(JPEGError) -> DecodedImage {
        try ImageLoader(source: source, isLinear: isLinear, flag: flag).load(size, eighths: eighths)
    }
}
