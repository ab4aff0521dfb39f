import Glibc
import WaybillCore

/// Finds the best image within a number of bytes: first the size in pixels, then the quantizer, then the last bytes.
struct LimitSearch {
    private var rules: SearchRules
    private let documentRules: SearchRules
    private let largest: PixelSize
    private let flag: CancellationFlag
    private let loadImage: (SearchRules) throws(JPEGError) -> DecodedImage

    /// Creates a search for upright sizes up to `largest`. `loadImage` decodes at that size or an intermediate one.
    init(
        _ options: JPEGOptions, limit: Int, largest: PixelSize, flag: CancellationFlag,
        loadImage: @escaping (SearchRules) throws(JPEGError) -> DecodedImage
    ) {
        rules = SearchRules(limit: limit, options: options, largest: largest)
        var options = options
        options.isDocument = true
        documentRules = SearchRules(limit: limit, options: options, largest: largest)
        self.largest = largest
        self.flag = flag
        self.loadImage = loadImage
    }

    mutating func run() throws(JPEGError) -> Encoded {
        var candidate = try choose()
        while true {
            let size = PixelSize(width: candidate.image.width, height: candidate.image.height)
            let isSmallest = size.longSide <= min(rules.leastSide, largest.longSide)
            // Skip writing a size that exceeds the limit by far even with the coarsest factor.
            let isPermanentFailure = candidate.predictedBytes > 1.3 * Double(rules.limit)
            var smallest = Int(candidate.predictedBytes)
            if !isPermanentFailure || isSmallest {
                var fill = FillSearch(candidate, rules: rules, flag: flag)
                if let encoded = try fill.run() { return encoded }
                smallest = fill.smallest
            }
            guard !isSmallest else {
                throw JPEGError(
                    .cannotReachLimit,
                    "The image cannot be compressed to \(rules.limit) bytes. At \(size.width) x \(size.height) pixels "
                        + "and the lowest quality it has \(smallest) bytes. \(remedy)", smallestBytes: smallest)
            }
            let share = max(0.2, min(0.8, 0.9 * Double(rules.limit) / Double(smallest)))
            let least = Double(rules.leastSide) / Double(size.longSide)
            let next = size.shrunk(toPixels: size.pixels * max(share, least * least))
            candidate = try makeCandidate(loadImage(rules), next, factor: 4, ratio: rules.startRatio)
        }
    }

    private var remedy: String {
        "\(rules.hasFloor ? Remedy.raiseImageLimitOrLowerSide : .raiseImageLimit)"
    }

    /// Tries several sizes and returns the most faithful one, ready to be written. Releases the decoded image.
    private mutating func choose() throws(JPEGError) -> EncodingCandidate {
        let image = try loadByContent()
        let (pixels, factor) = try trial(image)
        let sizes = candidateSizes(around: pixels)
        var start = (factor: factor, ratio: rules.startRatio)
        guard sizes.count > 1 else { return try makeCandidate(image, sizes[0], factor: factor, ratio: start.ratio) }
        let metric = SimilarityMetric(image, rules: rules)
        var winner: (size: PixelSize, factor: Double, ratio: Double, distance: Double)?
        for (index, size) in sizes.enumerated() {
            let candidate = try makeCandidate(image, size, factor: start.factor, ratio: start.ratio)
            start = (candidate.factor, candidate.ratio)
            let distance = metric.distance(of: candidate.levels, candidate.image)
            guard distance < winner?.distance ?? .infinity else { continue }
            if index == sizes.count - 1 { return candidate }
            winner = (size, candidate.factor, candidate.ratio, distance)
        }
        // Only one size is in memory at a time; computing the winner again takes about 10 ms and halves the memory.
        let (size, factorFound, ratio) = winner.map { ($0.size, $0.factor, $0.ratio) } ?? (sizes[0], factor, 0.88)
        return try makeCandidate(image, size, factor: factorFound, ratio: ratio)
    }

    /// Returns the image; the rules are then those for its content. A page of text is decoded again, in linear light.
    private mutating func loadByContent() throws(JPEGError) -> DecodedImage {
        if let image = try loadUnlessPage() { return image }
        rules = documentRules
        return try loadImage(rules)
    }

    private func loadUnlessPage() throws(JPEGError) -> DecodedImage? {
        let image = try loadImage(rules)
        return !rules.isDocument && image.luma.isPage ? nil : image
    }

    private func makeCandidate(
        _ image: DecodedImage, _ size: PixelSize, factor: Double, ratio: Double
    ) throws(JPEGError) -> EncodingCandidate {
        let image = try CoefficientImage(
            image, width: size.width, height: size.height, isLinear: rules.isDocument, flag: flag)
        return try EncodingCandidate(image, rules: rules, startFactor: factor, startRatio: ratio, flag: flag)
    }

    /// Returns the number of pixels at which the limit requires about the ideal factor.
    private func trial(_ image: DecodedImage) throws(JPEGError) -> (pixels: Double, factor: Double) {
        var pixels = min(rules.trialPixels, largest.pixels)
        var factor = rules.idealFactor
        for _ in 0..<3 {
            let size = largest.shrunk(toPixels: pixels)
            let image = try CoefficientImage(
                image, width: size.width, height: size.height, isLinear: rules.isDocument, flag: flag)
            let everyPair = image.components[0].blocksDown >= 32 ? 2 : 1
            let share = everyPair == 1 ? 1 : 0.5
            let solution = FactorSolver.solve(
                target: Double(rules.limit) / rules.startRatio, from: factor,
                within: QuantiserTable.finest...QuantiserTable.coarsest, tolerance: 0.02
            ) { factor in
                let table = QuantiserTable(factor: factor)
                return SymbolCounts(image, table, rounding: rules.quantiser.rounding, everyPair: everyPair)
                    .bytes(share: share)
            }
            factor = solution.factor
            // Bytes at a fixed factor grow with pixels to the power of 1.15; the factor is adjusted accordingly.
            let wanted = pixels * pow(rules.idealFactor / factor, 1 / 1.15)
            // An image that does not use up the limit even at the finest factor can only get more pixels.
            let isSaturated = !solution.isMet && solution.bytes < Double(rules.limit)
            let cap = isSaturated ? rules.intermediatePixels : rules.capPixels
            let next = min(largest.pixels, max(rules.floorPixels, min(cap, wanted)))
            if abs(next / pixels - 1) < rules.trialTolerance { return (next, rules.idealFactor) }
            pixels = next
        }
        return (pixels, factor)
    }

    private func candidateSizes(around pixels: Double) -> [PixelSize] {
        let isSmall = largest.pixels <= rules.nativePixels
        var wanted = [pixels]
        if rules.triesSizes || isSmall { wanted = [pixels / 1.5, pixels, pixels * 1.5] }
        wanted = wanted.map { max(rules.floorPixels, min(max(rules.capPixels, pixels), $0)) }
        if isSmall { wanted.append(largest.pixels) }
        var kept: [PixelSize] = []
        for value in wanted.sorted() {
            // Use the full size instead of a size that is almost as large.
            let size = value > 0.85 * largest.pixels ? largest : largest.shrunk(toPixels: value)
            if let last = kept.last, size.pixels / last.pixels < 1.08, size != largest { continue }
            if kept.last != size { kept.append(size) }
        }
        return kept
    }
}
