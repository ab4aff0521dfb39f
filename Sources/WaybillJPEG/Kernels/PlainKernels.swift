import Glibc

/// The loops in plain Swift, written for readability.
enum PlainKernels: KernelSet {
    static func vertical(
        _ rows: [UnsafePointer<UInt8>], _ weights: UnsafePointer<Int16>, width: Int,
        sums: UnsafeMutablePointer<Int32>, out: UnsafeMutablePointer<Float>
    ) {
        for x in 0..<width {
            var sum: Int32 = 0
            for tap in unsafe rows.indices { unsafe sum += Int32(rows[tap][x]) * Int32(weights[tap]) }
            unsafe out[x] = Float(sum) / 16_384
        }
    }

    static func vertical(
        _ rows: [UnsafePointer<UInt16>], _ weights: [Float], width: Int, out: UnsafeMutablePointer<Float>
    ) {
        for x in 0..<width {
            var sum: Float = 0
            for tap in unsafe rows.indices { unsafe sum += Float(rows[tap][x]) * weights[tap] }
            unsafe out[x] = sum
        }
    }

    static func horizontal(
        _ row: UnsafePointer<Float>, _ starts: [Int32], _ weights: [Float], taps: Int, width: Int,
        out: UnsafeMutablePointer<Float>
    ) {
        for x in 0..<width {
            let start = Int(starts[x])
            var sum: Float = 0
            for tap in 0..<taps { unsafe sum += row[start + tap] * weights[x * taps + tap] }
            unsafe out[x] = sum
        }
    }

    static func trellis(
        _ coefficients: UnsafePointer<Int16>, _ norms: UnsafePointer<Float>, blocks: Int, _ table: [UInt16],
        _ bits: [Float], strength: Float, levels: UnsafeMutablePointer<Int16>
    ) {
        // Errors are masked in busy blocks; the exponent 0.7 masks them less than the usual 1.
        let knee = exp2(Float(16.5))
        for block in 0..<blocks {
            let source = (0..<64).map { unsafe coefficients[block * 64 + $0] }
            let masking = unsafe pow(knee / (knee + norms[block]), 0.7)
            let chosen = PlainTrellis(
                coefficients: source, table: table, bits: bits, strength: strength / knee * masking
            ).levels()
            for k in 0..<64 { unsafe levels[block * 64 + k] = chosen[k] }
        }
    }
}

/// The choice of levels for one block: the cheapest path over the positions that are not clearly zero. Each position
/// may keep its level, use the next smaller level or the largest level that needs one bit less, or be dropped.
private struct PlainTrellis {
    let coefficients: [Int16]
    let table: [UInt16]
    let bits: [Float]
    let strength: Float

    private struct Step {
        let position: Int
        /// The cost of dropping every step before this one.
        let zeros: Float
        /// The minimum cost of a block that ends here, with the corresponding level and previous step.
        var best = Float.infinity
        var level = 0
        var previous: Int?
    }

    func levels() -> [Int16] {
        var steps: [Step] = []
        var zeros: Float = 0
        for k in 1..<64 {
            let exact = Float(abs(Int(coefficients[k]))) / (8 * Float(table[k]))
            let plain = min(1_023, Int(exact + 0.5))
            guard plain > 0 else { continue }
            let weight = strength * 64 * Float(table[k]) / Float(table[0])
            steps.append(Step(position: k, zeros: zeros))
            let shorter = 1 << (Self.size(plain) - 1) - 1
            for level in plain - 1 > shorter ? [plain, plain - 1, shorter] : [plain, plain - 1] where level > 0 {
                let error = Float(level) - exact
                extend(&steps, to: level, distortion: weight * error * error)
            }
            zeros += weight * exact * exact
        }
        return path(through: steps, zeros)
    }

    private func extend(_ steps: inout [Step], to level: Int, distortion: Float) {
        let last = steps.count - 1
        let position = steps[last].position
        for before in stride(from: last - 1, through: -1, by: -1) {
            let dropped = steps[last].zeros - (before < 0 ? 0 : steps[before + 1].zeros)
            let run = position - (before < 0 ? 0 : steps[before].position) - 1
            let rate = Float(run / 16) * bits[0xF0] + bits[(run % 16) << 4 | Self.size(level)] + Float(Self.size(level))
            let cost = distortion + dropped + rate + (before < 0 ? 0 : steps[before].best)
            guard cost < steps[last].best else { continue }
            steps[last].best = cost
            steps[last].level = level
            steps[last].previous = before < 0 ? nil : before
        }
    }

    /// Selects the end of the block and follows the path back from there.
    private func path(through steps: [Step], _ zeros: Float) -> [Int16] {
        var least = zeros + bits[0]
        var end: Int?
        for (index, step) in steps.enumerated() {
            let after = index + 1 < steps.count ? zeros - steps[index + 1].zeros : 0
            let cost = step.best + after + (step.position < 63 ? bits[0] : 0)
            if cost < least { (least, end) = (cost, index) }
        }
        var levels = [Int16](repeating: 0, count: 64)
        let dc = Int(Float(abs(Int(coefficients[0]))) / (8 * Float(table[0])) + 0.5)
        levels[0] = Int16(coefficients[0] < 0 ? -dc : dc)
        while let index = end {
            let step = steps[index]
            levels[step.position] = Int16(coefficients[step.position] < 0 ? -step.level : step.level)
            end = step.previous
        }
        return levels
    }

    private static func size(_ value: Int) -> Int { Int.bitWidth - value.leadingZeroBitCount }
}
