import WaybillCore

/// One picture from bytes to bytes: judged, kept or decoded, encoded, reported.
struct Recompression {
    let input: [UInt8]
    let options: JPEGOptions
    let flag: StopFlag

    private struct Outcome {
        var bytes: [UInt8]
        var size: PictureSize
        var factor: Double?
    }

    /// The quality where none was asked for and coefficients can't be kept.
    private static let usualQuality = 90

    func run() throws(JPEGError) -> JPEGResult {
        let start = ThreadClock.now
        try options.check()
        try flag.check()
        guard input.count <= JPEGBounds.inputBytes else {
            throw JPEGError(
                .tooManyBytes, "The file has \(input.count) bytes; at most \(JPEGBounds.inputBytes) are read.")
        }
        let header = try JPEGHeader(parsing: input)
        try JPEGBounds.check(header)
        let outcome = try make(header)
        let size = header.uprightSize
        let report = JPEGReport(
            originalBytes: input.count, bytes: outcome.bytes.count, originalWidth: size.width,
            originalHeight: size.height, width: outcome.size.width, height: outcome.size.height,
            orientation: header.orientation, quantiserFactor: outcome.factor, cpuTime: ThreadClock.now - start,
            stripped: stripped(header), droppedProfile: droppedProfile(header), isPassedThrough: outcome.factor == nil)
        return JPEGResult(bytes: outcome.bytes, report: report)
    }

    private func make(_ header: JPEGHeader) throws(JPEGError) -> Outcome {
        let full = PictureSize(width: header.uprightSize.width, height: header.uprightSize.height)
        let largest = full.capped(atPixels: options.maxPixels)
        let limit = Int(clamping: options.maxBytes?.bytes ?? .max)
        if options.quality == nil, largest == full, let kept = try keep(header, limit: limit) {
            return Outcome(bytes: kept, size: full, factor: nil)
        }
        if let quality = options.quality ?? (options.maxBytes == nil ? Self.usualQuality : nil),
            let made = try encode(header, largest, quality: quality, limit: min(limit, input.count))
        {
            // At a fine quality the input's own coefficients may be fewer bytes, and they are exact.
            guard largest == full, made.bytes.count > input.count / 2,
                let kept = try keep(header, limit: made.bytes.count)
            else { return made }
            return Outcome(bytes: kept, size: full, factor: nil)
        }
        if options.quality != nil, largest == full, let kept = try keep(header, limit: limit) {
            return Outcome(bytes: kept, size: full, factor: nil)
        }
        return try search(header, largest, limit: limit)
    }

    /// The input's own coefficients, when there is hope that they fit.
    private func keep(_ header: JPEGHeader, limit: Int) throws(JPEGError) -> [UInt8]? {
        let metadata = header.segments.reduce(0) { $0 + $1.byteCount }
        // Better scans and Huffman tables save up to a fifth.
        guard Double(input.count - metadata) * 0.8 <= Double(limit) else { return nil }
        let kept = try PassThrough(input: input, header: header, mode: options.mode, flag: flag).run()
        guard let kept, kept.count <= limit else { return nil }
        return kept
    }

    /// The picture at a quality, or `nil` when that takes more than the limit.
    private func encode(
        _ header: JPEGHeader, _ size: PictureSize, quality: Int, limit: Int
    ) throws(JPEGError) -> Outcome? {
        let rules = SearchRules(limit: limit, options: options)
        let factor = QuantiserTable.factor(quality: quality)
        let image = try image(header, size)
        // An estimate that is far over saves the trellis and the writing.
        let counts = SymbolCounts(image, QuantiserTable(factor: factor), rounding: rules.quantiser.rounding)
        guard counts.bytes() * 0.6 < Double(limit) else { return nil }
        let levels = try LevelImage(image, factor: factor, quantiser: rules.quantiser, flag: flag)
        var smallest: [UInt8]?
        for script in rules.scripts {
            let bytes = try JPEGWriter.write(levels, image, script: script, flag: flag)
            if bytes.count < smallest?.count ?? .max { smallest = bytes }
        }
        guard let smallest, smallest.count <= limit else { return nil }
        return Outcome(bytes: smallest, size: size, factor: factor)
    }

    private func image(_ header: JPEGHeader, _ size: PictureSize) throws(JPEGError) -> FrequencyImage {
        let picture = try load(header, size, eighths: 8)
        return try FrequencyImage(
            picture, width: size.width, height: size.height, isLinear: options.isDocument, flag: flag)
    }

    private func search(_ header: JPEGHeader, _ largest: PictureSize, limit: Int) throws(JPEGError) -> Outcome {
        do {
            // What already fits never grows.
            return try search(header, largest, within: min(limit, input.count))
        } catch {
            guard error.code == .cannotReachLimit, input.count < limit else { throw error }
            return try search(header, largest, within: limit)
        }
    }

    private func search(_ header: JPEGHeader, _ largest: PictureSize, within limit: Int) throws(JPEGError) -> Outcome {
        let rules = SearchRules(limit: limit, options: options)
        let eighths = decodingEighths(header, rules)
        var kept =
            largest.pixels > 1.2 * rules.intermediatePixels
            ? largest.shrunk(toPixels: rules.intermediatePixels) : largest
        if eighths == 4 { kept = kept.shrunk(toPixels: Double(header.width) * Double(header.height) / 4) }
        let search = LimitSearch(
            rules: rules, largest: largest, isLinear: options.isDocument, flag: flag
        ) { [self, kept] () throws(JPEGError) in try load(header, kept, eighths: eighths) }
        let encoded = try search.run()
        return Outcome(bytes: encoded.bytes, size: encoded.size, factor: encoded.factor)
    }

    /// 4 where half the size is plenty for what is made of it: libjpeg then decodes in two thirds of the time.
    private func decodingEighths(_ header: JPEGHeader, _ rules: SearchRules) -> Int {
        let pixels = Double(header.width) * Double(header.height)
        if options.mode == .draft { return pixels >= 7.5e6 && pixels / 4 >= 1.5 * rules.trialPixels ? 4 : 8 }
        return pixels > 16.5e6 && pixels / 4 >= rules.intermediatePixels ? 4 : 8
    }

    /// Decodes to an upright size.
    private func load(_ header: JPEGHeader, _ size: PictureSize, eighths: Int) throws(JPEGError) -> Picture {
        let isTurned = header.orientation >= 5
        let loader = PictureLoader(bytes: input, header: header, isLinear: options.isDocument, flag: flag)
        return try loader.load(
            width: isTurned ? size.height : size.width, height: isTurned ? size.width : size.height,
            eighths: eighths)
    }

    private func stripped(_ header: JPEGHeader) -> [String] {
        var names: [String] = []
        for segment in header.segments where segment.name != "JFIF" && !names.contains(segment.name) {
            names.append(segment.name)
        }
        return names
    }

    private func droppedProfile(_ header: JPEGHeader) -> String? {
        guard let name = header.profileName, !name.lowercased().contains("srgb") else { return nil }
        return name.isEmpty ? "unnamed" : name
    }
}
