import TestSupport
import Testing

@testable import WaybillJPEG

/// The loops in C compute the same as those in Swift.
@Suite struct KernelTests {
    @Test(arguments: 0..<20)
    func `vertical sums agree in C and Swift`(round: Int) {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let (width, taps) = (Int.random(in: 1...70, using: &random), Int.random(in: 1...23, using: &random))
        let bytes = (0..<taps).map { _ in Self.samples(width) { UInt8.random(in: 0...255, using: &random) } }
        let words = (0..<taps).map { _ in Self.samples(width) { UInt16.random(in: 0...65_280, using: &random) } }
        let fixed = (0..<taps).map { _ in Int16.random(in: -3_000...6_000, using: &random) }
        let weights = (0..<taps).map { _ in Float.random(in: -0.2...0.5, using: &random) }
        let sums = Samples<Int32>(count: width)
        let (one, other) = (Samples<Float>(count: width), Samples<Float>(count: width))
        unsafe CKernels.vertical(
            bytes.map { unsafe UnsafePointer($0.start) }, fixed, width: width, sums: sums.start, out: one.start)
        unsafe PlainKernels.vertical(
            bytes.map { unsafe UnsafePointer($0.start) }, fixed, width: width, sums: sums.start, out: other.start)
        for x in 0..<width { #expect(one[x] == other[x], "seed \(seed)") }
        unsafe CKernels.vertical(words.map { unsafe UnsafePointer($0.start) }, weights, width: width, out: one.start)
        unsafe PlainKernels.vertical(
            words.map { unsafe UnsafePointer($0.start) }, weights, width: width, out: other.start)
        for x in 0..<width { #expect(abs(one[x] - other[x]) < 0.1, "seed \(seed)") }
    }

    @Test(arguments: 0..<20)
    func `horizontal sums agree in C and Swift`(round: Int) {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let (width, taps) = (Int.random(in: 1...70, using: &random), 4 * Int.random(in: 1...6, using: &random))
        let row = Self.samples(width + taps) { Float.random(in: 0...255, using: &random) }
        let starts = (0..<width).map { _ in Int32.random(in: 0...Int32(width), using: &random) }
        let weights = (0..<width * taps).map { _ in Float.random(in: -0.2...0.5, using: &random) }
        let (one, other) = (Samples<Float>(count: width), Samples<Float>(count: width))
        unsafe CKernels.horizontal(row.start, starts, weights, taps: taps, width: width, out: one.start)
        unsafe PlainKernels.horizontal(row.start, starts, weights, taps: taps, width: width, out: other.start)
        for x in 0..<width { #expect(abs(one[x] - other[x]) < 0.01, "seed \(seed)") }
    }

    @Test(arguments: [0.5, 1.0, 3.0, 12.0])
    func `the trellis agrees in C and Swift`(factor: Double) {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let blocks = 40
        // Coefficients that decrease like those of images.
        let coefficients = Samples<Int16>(count: blocks * 64)
        for index in 0..<blocks * 64 {
            let most = 8_000 / (1 + index % 64)
            coefficients[index] = Int16(Int.random(in: -most...most, using: &random))
        }
        let norms = Self.samples(blocks) { Float.random(in: 0...400_000, using: &random) }
        let bits = (0..<256).map { _ in Float.random(in: 1...16, using: &random) }
        let table = QuantiserTable(factor: factor).zigzag
        let (one, other) = (Samples<Int16>(count: blocks * 64), Samples<Int16>(count: blocks * 64))
        unsafe CKernels.trellis(
            coefficients.start, norms.start, blocks: blocks, table, bits, strength: 16_384, levels: one.start)
        unsafe PlainKernels.trellis(
            coefficients.start, norms.start, blocks: blocks, table, bits, strength: 16_384, levels: other.start)
        // The costs of two paths may differ only in the last bits of a float.
        let different = (0..<blocks).count { block in
            (0..<64).contains { one[block * 64 + $0] != other[block * 64 + $0] }
        }
        #expect(different <= 2, "seed \(seed)")
    }

    private static func samples<Value>(_ count: Int, _ make: () -> Value) -> Samples<Value> {
        let samples = Samples<Value>(count: count)
        for index in 0..<count { unsafe (samples.start + index).initialize(to: make()) }
        return samples
    }
}
