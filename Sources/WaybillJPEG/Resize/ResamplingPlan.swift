import Glibc

/// Which input samples make which output sample, with their weights: Lanczos with three lobes, widened when shrinking.
///
/// The step must be the exact ratio of lengths. A nominal scale that is off in the fourth digit moves the far edge by
/// half a pixel, which every quality measure notices.
struct ResamplingPlan {
    let inputCount: Int
    let outputCount: Int
    /// Input samples that each output sample looks at.
    let taps: Int
    /// The first of them.
    let starts: [Int32]
    /// `taps` for each output sample; they add up to 1.
    let weights: [Float]
    /// Whether output equals input.
    let isIdentity: Bool

    /// Plans one axis: `step` input samples from one output sample to the next, moved by `offset` input samples. Zero
    /// weights fill the number of taps up to a multiple.
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

    /// Samples beyond the edge are left out and the rest weighs more.
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

    /// The weights in 14 fractional bits; each output sample's still add up to exactly 1.
    func fixedPointWeights() -> [Int16] {
        var fixed = weights.map { Int16(($0 * 16_384).rounded()) }
        for output in 0..<outputCount {
            let range = output * taps..<(output + 1) * taps
            let rest = 16_384 - range.reduce(0) { $0 + Int(fixed[$1]) }
            // The largest weight hides the difference best.
            guard let largest = range.max(by: { fixed[$0] < fixed[$1] }) else { continue }
            fixed[largest] += Int16(rest)
        }
        return fixed
    }
}
