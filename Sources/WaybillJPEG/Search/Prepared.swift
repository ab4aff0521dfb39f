import Glibc

/// One size of the picture with the quantiser that should just fit the limit, before anything is written.
struct Prepared {
    let image: FrequencyImage
    let levels: LevelImage
    /// What the file will have, give or take a few percent.
    let predictedBytes: Double
    /// d ln bytes / d ln factor.
    let slope: Double
    /// File bytes over the estimate before the trellis: the next size starts from it.
    let ratio: Double

    var factor: Double { levels.table.factor }

    init(
        _ image: FrequencyImage, rules: SearchRules, startFactor: Double, startRatio: Double, flag: StopFlag
    ) throws(JPEGError) {
        let aim = 0.997 * Double(rules.limit)
        let rounding = rules.quantiser.plainRounding
        let solution = FactorSolver.solve(
            target: aim / startRatio, from: startFactor, within: rules.factors, tolerance: 0.01
        ) { SymbolCounts(image, QuantiserTable(factor: $0), rounding: rounding).bytes() }
        var factor = solution.factor
        var levels = try LevelImage(image, factor: factor, quantiser: rules.quantiser, flag: flag)
        for _ in 0..<3 {
            let predicted = rules.writtenRatio * levels.estimate
            let next = rules.clamped(factor * exp(log(aim / predicted) / solution.slope))
            guard abs(predicted / aim - 1) > 0.02, abs(next / factor - 1) > 1e-3 else { break }
            factor = next
            levels = try LevelImage(image, factor: factor, quantiser: rules.quantiser, flag: flag)
        }
        self.image = image
        self.levels = levels
        slope = solution.slope
        predictedBytes = rules.writtenRatio * levels.estimate
        ratio = predictedBytes / levels.plainEstimate
    }
}

extension SearchRules {
    /// The factors that may be used.
    var factors: ClosedRange<Double> { min(finestFactor, QuantiserTable.coarsest)...QuantiserTable.coarsest }

    func clamped(_ factor: Double) -> Double {
        min(factors.upperBound, max(factors.lowerBound, factor))
    }
}
