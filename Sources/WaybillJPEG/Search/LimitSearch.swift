import Glibc
import WaybillCore

/// Finds the best image within a number of bytes: first the size in pixels, then the quantizer, then the last bytes.
struct LimitSearch {
    private var rules: SearchRules
    private let documentRules: SearchRules
    private let options: JPEGOptions
    private let largest: PixelSize
    private let flag: CancellationFlag
    private let loadImage: (SearchRules) throws(JPEGError) -> DecodedImage

    /// Creates a search for upright sizes up to `largest`. `loadImage` decodes at that size or an intermediate one.
    init(
        _ options: JPEGOptions, limit: Int, largest: PixelSize, flag: CancellationFlag,
        loadImage: @escaping (SearchRules) throws(JPEGError) -> DecodedImage
    ) {
        self.options = options
        rules = SearchRules(limit: limit, options: options, largest: largest)
        var document = options
        document.isDocument = true
        documentRules = SearchRules(limit: limit, options: document, largest: largest)
        self.largest = largest
        self.flag = flag
        self.loadImage = loadImage
    }

    /// - Throws: ``JPEGError/Code/cannotReachLimit`` if the limit is below the size of the smallest file. Every other limit
    ///   is met: if no size that is tried fits, the smallest file is returned.
    mutating func run() throws(JPEGError) -> Encoded {
        var smallest = rules.limit < Self.riskyLimit ? try fittingSmallest() : nil
        var candidate = try choose()
        while true {
            let size = PixelSize(width: candidate.image.width, height: candidate.image.height)
            let isSmallest = size.longSide <= min(rules.leastSide, largest.longSide)
            // Skip writing a size that exceeds the limit by far even with the coarsest factor.
            let isPermanentFailure = candidate.predictedBytes > 1.3 * Double(rules.limit)
            var written = Int(candidate.predictedBytes)
            if !isPermanentFailure || isSmallest {
                var fill = FillSearch(candidate, rules: rules, flag: flag)
                if let encoded = try fill.run() { return encoded }
                written = fill.smallest
            }
            let fallback = if let smallest { smallest } else { try fittingSmallest() }
            if isSmallest { return fallback }
            smallest = fallback
            let share = max(0.2, min(0.8, 0.9 * Double(rules.limit) / Double(written)))
            let least = Double(rules.leastSide) / Double(size.longSide)
            let next = size.shrunk(toPixels: size.pixels * max(share, least * least))
            candidate = try makeCandidate(loadImage(rules), next, factor: 4, ratio: rules.startRatio)
        }
    }

    /// Below this limit, whether a size happens to fit depends on the limit by chance: the smallest file, which has at
    /// most 24 blocks, is compared first. A minimum side is larger; it is compared when a size does not fit.
    private static let riskyLimit = 2_000
    /// An image up to this side may need fewer bytes at full size, if scaling blurs its edges over several blocks.
    private static let tinySide = 256

    /// Returns the smallest file if it fits the limit; throws otherwise.
    private func fittingSmallest() throws(JPEGError) -> Encoded {
        // Nothing of it may depend on the limit, so that every limit from its size on is met.
        var search = LimitSearch(options, limit: 1, largest: largest, flag: flag, loadImage: loadImage)
        let smallest = try search.encodeSmallest()
        guard smallest.bytes.count > rules.limit else { return smallest }
        throw rules.unreachable(smallest.bytes.count, at: smallest.size)
    }

    private mutating func encodeSmallest() throws(JPEGError) -> Encoded {
        let image = try loadByContent()
        var sizes = [largest.capped(atSide: rules.leastSide)]
        if sizes[0] != largest, largest.longSide <= Self.tinySide { sizes.append(largest) }
        var smallest: Encoded?
        for size in sizes {
            let image = try CoefficientImage(
                image, width: size.width, height: size.height, isLinear: rules.isDocument, flag: flag)
            for fidelity in [0, rules.fidelities.lowerBound] {
                let levels = try QuantisedImage(
                    image, factor: QuantiserTable.coarsest,
                    quantiser: Quantiser(usesTrellis: rules.usesTrellis, fidelity: fidelity), flag: flag)
                for script in rules.scripts {
                    let bytes = try JPEGWriter.write(levels, image, script: script, flag: flag)
                    guard bytes.count < smallest?.bytes.count ?? .max else { continue }
                    smallest = Encoded(bytes: bytes, size: size, factor: QuantiserTable.coarsest)
                }
            }
        }
        guard let smallest else { preconditionFailure("At least one size is encoded.") }
        return smallest
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
        let (image, paper) = try loadUnlessPage()
        if image == nil { rules = documentRules }
        rules.grayPaper = paper.flatMap { $0 < Self.whitePaper ? $0 : nil }
        guard let image else { return try loadImage(rules) }
        return image
    }

    /// The brightness from which paper is white.
    private static let whitePaper = 250.0

    /// Returns the image, unless it is a page that must be decoded again, and the brightness of the paper of a page.
    private func loadUnlessPage() throws(JPEGError) -> (image: DecodedImage?, paper: Double?) {
        let image = try loadImage(rules)
        let paper = image.luma.paper
        return (rules.isDocument || paper == nil ? image : nil, paper)
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
                let table = rules.quantiser.table(factor: factor)
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
