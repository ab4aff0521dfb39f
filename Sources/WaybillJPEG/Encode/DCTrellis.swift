import Glibc

/// Chooses the DC level of every block so that rate + strength * distortion is minimal over a whole component (the
/// Viterbi algorithm).
///
/// A DC level is written as the difference from that of the block before. Blocks of the same paper therefore get the
/// same level unless the difference is visible.
struct DCTrellis {
    private let step: Float
    private let bits: [Float]
    private let strength: Float

    /// The masking by busy blocks is that of the trellis for AC (`wb_jpeg_trellis`).
    private static let knee: Float = 92_681.9

    /// Creates the trellis for a step of the DC coefficient; `bits` contains the length of each DC symbol.
    init(step: UInt16, bits: [Float], strength: Float) {
        self.step = Float(step)
        self.bits = bits
        self.strength = 64 * strength / Self.knee
    }

    /// Replaces the DC levels of a component.
    func quantise(_ component: CoefficientImage.Component, to levels: Samples<Int16>) {
        // The level before the first block is 0 (ISO/IEC 10918-1 F.1.1.5.1).
        var before = SIMD3<Int32>(repeating: 0)
        var costs = SIMD3<Float>(0, .infinity, .infinity)
        var origins: [SIMD3<UInt8>] = []
        origins.reserveCapacity(component.blocks)
        for block in 0..<component.blocks {
            let exact = exactLevel(component, block)
            let choices = choices(near: exact)
            let weight = strength * powf(Self.knee / (Self.knee + component.norms[block]), 0.7)
            var (next, origin) = (SIMD3<Float>(repeating: .infinity), SIMD3<UInt8>(repeating: 0))
            for choice in 0..<3 {
                for previous in 0..<3 {
                    let size = Int32.bitWidth - abs(choices[choice] - before[previous]).leadingZeroBitCount
                    let cost = costs[previous] + bits[size] + Float(size)
                    guard cost < next[choice] else { continue }
                    next[choice] = cost
                    origin[choice] = UInt8(previous)
                }
                let error = Float(choices[choice]) - exact
                next[choice] += weight * error * error
            }
            (before, costs) = (choices, next)
            origins.append(origin)
        }
        var choice = (0..<3).min { costs[$0] < costs[$1] } ?? 0
        for block in (0..<component.blocks).reversed() {
            levels[block * 64] = Int16(choices(near: exactLevel(component, block))[choice])
            choice = Int(origins[block][choice])
        }
    }

    private func exactLevel(_ component: CoefficientImage.Component, _ block: Int) -> Float {
        Float(component.coefficients[block * 64]) / (8 * step)
    }

    /// Returns the nearest level and its neighbors, within the range of 8-bit samples.
    private func choices(near exact: Float) -> SIMD3<Int32> {
        let nearest = Int32(exact.rounded())
        let bound = Int32(1_024 / step)
        return SIMD3(nearest - 1, nearest, nearest + 1)
            .clamped(lowerBound: SIMD3(repeating: -bound), upperBound: SIMD3(repeating: bound))
    }
}
