import Glibc

/// The input samples and weights for each output sample: a Lanczos filter with three lobes, widened for downscaling.
///
/// The step must be the exact ratio of the lengths. A nominal scale with an error in the fourth digit shifts the far
/// edge by half a pixel, which affects every quality measure.
struct ResamplingPlan {
    let inputCount: Int
    let outputCount: Int
    /// The number of input samples per output sample.
    let taps: Int
    /// The index of the first input sample per output sample.
    let starts: [Int32]
    /// `taps` weights per output sample, with a sum of 1.
    let weights: [Float]
    /// Whether the output equals the input.
    let isIdentity: Bool

    /// Creates a plan for one axis: output samples are `step` input samples apart and shifted by `offset` input
    /// samples. Zero weights pad the number of taps to a multiple.
    init(inputCount: Int, outputCount: Int, step: Double, offset: Double = 0, tapsMultipleOf multiple: Int = 1) {
        self.inputCount = inputCount
        self.outputCount = outputCount
        isIdentity = inputCount == outputCount && step == 1 && offset == 0
        guard !isIdentity else {
            taps = 1
            starts = (0..<outputCount).map { Int32($0) }
            weights = Array(repeating: 1, count: outputCount)
            return
        }
        let stretch = max(1, step)
        let reach = 3 * stretch
        let needed = min(inputCount, Int((2 * reach).rounded(.up)) + 1)
        let taps = (needed + multiple - 1) / multiple * multiple
        var starts: [Int32] = []
        var weights = [Float](repeating: 0, count: taps * outputCount)
        for output in 0..<outputCount {
            let center = (Double(output) + 0.5) * step + offset
            let first = Int((center - reach - 0.5).rounded(.down)) + 1
            let start = max(0, min(first, inputCount - taps))
            starts.append(Int32(start))
            Self.fill(&weights, at: output * taps, count: min(taps, inputCount - start)) { tap in
                Self.kernel((Double(start + tap) + 0.5 - center) / stretch)
            }
        }
        self.taps = taps
        self.starts = starts
        self.weights = weights
    }

    /// Samples beyond the edge are omitted, and the remaining weights are normalized.
    private static func fill(_ weights: inout [Float], at base: Int, count: Int, _ kernel: (Int) -> Double) {
        let values = (0..<count).map(kernel)
        let sum = values.reduce(0, +)
        for tap in 0..<count { weights[base + tap] = Float(values[tap] / sum) }
    }

    static func kernel(_ distance: Double) -> Double {
        if distance == 0 { return 1 }
        guard abs(distance) < 3 else { return 0 }
        // sinc(x) sinc(x / 3), with sin(3a) = 3 sin a - 4 sin^3 a: one sine instead of two.
        let third = distance * (Double.pi / 3)
        let sine = sin(third)
        return sine * sine * (3 - 4 * sine * sine) / (3 * third * third)
    }

    /// Returns the weights with 14 fractional bits; those of each output sample still have a sum of exactly 1.
    func fixedPointWeights() -> [Int16] {
        var fixed = weights.map { Int16(($0 * 16_384).rounded()) }
        for output in 0..<outputCount {
            let range = output * taps..<(output + 1) * taps
            let rest = 16_384 - range.reduce(0) { $0 + Int(fixed[$1]) }
            // Correct the largest weight, where the difference matters least.
            guard let largest = range.max(by: { fixed[$0] < fixed[$1] }) else { continue }
            fixed[largest] += Int16(rest)
        }
        return fixed
    }
}
