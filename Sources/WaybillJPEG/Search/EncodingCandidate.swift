import Glibc

/// One size of the image with the quantizer that should just fit the limit, before a file is written.
struct EncodingCandidate {
    let image: CoefficientImage
    let levels: QuantisedImage
    /// The expected size of the file, within a few percent.
    let predictedBytes: Double
    /// d ln bytes / d ln factor.
    let slope: Double
    /// The ratio of file size to the estimate before the trellis; the initial value for the next size.
    let ratio: Double

    var factor: Double { levels.table.factor }

    init(
        _ image: CoefficientImage, rules: SearchRules, startFactor: Double, startRatio: Double, flag: CancellationFlag
    ) throws(JPEGError) {
        let aim = 0.997 * Double(rules.limit)
        let quantiser = rules.quantiser
        let rounding = quantiser.rounding
        let solution = FactorSolver.solve(
            target: aim / startRatio, from: startFactor, within: rules.factors, tolerance: 0.01
        ) { SymbolCounts(image, quantiser.table(factor: $0), rounding: rounding).bytes() }
        var factor = solution.factor
        var levels = try QuantisedImage(image, factor: factor, quantiser: quantiser, flag: flag)
        // The last slope of the secant may come from two points so close that a single table entry determines it.
        var slope = Self.slope(image, around: factor, quantiser)
        for _ in 0..<3 {
            let predicted = rules.writtenRatio * levels.estimate
            let next = rules.clamped(factor * exp(log(aim / predicted) / slope))
            guard abs(predicted / aim - 1) > 0.02, abs(next / factor - 1) > 1e-3 else { break }
            factor = next
            levels = try QuantisedImage(
                image, factor: factor, quantiser: quantiser, flag: flag, replacing: levels)
            slope = Self.slope(image, around: factor, quantiser)
        }
        self.image = image
        self.levels = levels
        self.slope = slope
        predictedBytes = rules.writtenRatio * levels.estimate
        ratio = predictedBytes / levels.plainEstimate
    }

    private static func slope(_ image: CoefficientImage, around factor: Double, _ quantiser: Quantiser) -> Double {
        let rounding = quantiser.rounding
        let everyPair = image.components[0].blocksDown >= 32 ? 2 : 1
        let (finer, coarser) = (quantiser.table(factor: factor / 1.05), quantiser.table(factor: factor * 1.05))
        guard finer.natural != coarser.natural else { return -0.7 }
        let more = SymbolCounts(image, finer, rounding: rounding, everyPair: everyPair).bytes()
        let less = SymbolCounts(image, coarser, rounding: rounding, everyPair: everyPair).bytes()
        return min(-0.2, max(-3, log(less / more) / log(1.05 * 1.05)))
    }
}

extension SearchRules {
    /// The allowed factors.
    var factors: ClosedRange<Double> { min(finestFactor, QuantiserTable.coarsest)...QuantiserTable.coarsest }

    func clamped(_ factor: Double) -> Double {
        min(factors.upperBound, max(factors.lowerBound, factor))
    }
}
