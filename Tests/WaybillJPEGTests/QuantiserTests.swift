import Glibc
import TestSupport
import Testing

@testable import WaybillJPEG

@Suite struct QuantiserTests {
    // Created for each test: the leak check cannot follow an enum payload held by a global until exit.
    private static var picture: DecodedImage {
        DecodedImage(
            luma: ResamplingTests.plane(45, 30, isFine: true),
            chroma: [ResamplingTests.plane(23, 15, isFine: true), ResamplingTests.plane(23, 15, isFine: false)])
    }

    private static func image() throws -> CoefficientImage {
        try CoefficientImage(picture, width: 45, height: 30, isLinear: false, flag: CancellationFlag())
    }

    @Test func `coefficients are eight times those of the standard, with repeated edges`() throws {
        let image = try Self.image()
        for (plane, component) in zip([Self.picture.luma] + Self.picture.chroma, image.components) {
            for block in 0..<component.blocks {
                let (left, top) = (block % component.blocksAcross * 8, block / component.blocksAcross * 8)
                let samples = (0..<64).map {
                    plane[min(plane.width - 1, left + $0 % 8), min(plane.height - 1, top + $0 / 8)] - 128
                }
                let expected = PlainDCT.forward(samples)
                var energy = 0.0
                for (k, natural) in TinyJPEG.naturalOfZigzag.enumerated() {
                    let coefficient = Double(component.coefficients[block * 64 + k])
                    #expect(abs(coefficient - 8 * expected[natural]) <= 0.52)
                    if k > 0 { energy += 64 * expected[natural] * expected[natural] / 63 }
                }
                #expect(abs(Double(component.norms[block]) - energy) <= 0.001 * energy + 1)
            }
        }
    }

    @Test func `extreme contrast stays within the range of the format`() throws {
        let luma = Plane(width: 64, height: 64) { x, y in (x / 2 + y / 2) % 2 == 0 ? 255 : 0 }
        let picture = DecodedImage(luma: luma, chroma: [])
        let image = try CoefficientImage(picture, width: 64, height: 64, isLinear: false, flag: CancellationFlag())
        let levels = try QuantisedImage(
            image, factor: QuantiserTable.finest, quantiser: Quantiser(usesTrellis: false), flag: CancellationFlag())
        let bytes = try JPEGWriter.write(levels, image, script: .split, flag: CancellationFlag())
        let seen = try DecodedPixels(bytes)
        #expect((0..<64).allSatisfy { x in abs(seen.picture.luma[x, x] - luma[x, x]) <= 2 })
    }

    @Test(arguments: [0.01, 0.3, 1.0, 7.0, 40.0])
    func `without trellis, levels and counts match a plain implementation`(factor: Double) throws {
        let image = try Self.image()
        let quantiser = Quantiser(usesTrellis: false)
        let levels = try QuantisedImage(image, factor: factor, quantiser: quantiser, flag: CancellationFlag())
        for (component, found) in zip(image.components, levels.levels) {
            for index in 0..<found.count {
                let k = index % 64
                let exact = abs(Double(component.coefficients[index])) / (8 * Double(levels.table.zigzag[k]))
                let rounded = (exact + (k == 0 ? 0.5 : Double(quantiser.rounding))).rounded(.down)
                let distance = abs(abs(Double(found[index])) - rounded)
                // Single precision may round to the other side of a boundary.
                let isAtBoundary = abs(exact - exact.rounded(.down) - (k == 0 ? 0.5 : 0.6)) < 1e-3
                #expect(distance == 0 || (distance == 1 && isAtBoundary))
                #expect(Int(found[index]) * Int(component.coefficients[index]) >= 0)
            }
        }
        let counts = SymbolCounts(image, levels.table, rounding: quantiser.rounding)
        #expect(abs(counts.bytes() - Self.plainEstimate(image, levels)) < 0.5)
        #expect(abs(counts.bytes() - levels.estimate) < 0.001)
    }

    @Test func `the trellis finds the cheapest of all choices`() throws {
        let image = try Self.image()
        let (factor, quantiser) = (9.0, Quantiser(usesTrellis: true))
        let levels = try QuantisedImage(image, factor: factor, quantiser: quantiser, flag: CancellationFlag())
        let counts = SymbolCounts(image, levels.table, rounding: 0.5)
        var tried = 0
        for (component, found) in zip(image.components, levels.levels) {
            let oracle = PlainTrellis(
                table: levels.table.zigzag.map(Double.init),
                bits: counts.symbolBits[component.tableClass].map(Double.init))
            for block in 0..<component.blocks {
                let coefficients = (0..<64).map { Double(component.coefficients[block * 64 + $0]) }
                let chosen = (0..<64).map { Int(found[block * 64 + $0]) }
                guard let least = oracle.least(coefficients, norm: Double(component.norms[block])) else { continue }
                let cost = oracle.cost(chosen, coefficients, norm: Double(component.norms[block]))
                #expect(abs(cost - least) < 0.01 * least + 0.01)
                tried += 1
            }
        }
        #expect(tried > 10)
    }

    @Test func `DC levels on gray paper are the cheapest of all choices`() throws {
        var random = SeededGenerator(seed: 26)
        let luma = Plane(width: 24, height: 16) { _, _ in Double(Int.random(in: 208...226, using: &random)) }
        let image = try CoefficientImage(
            DecodedImage(luma: luma, chroma: []), width: 24, height: 16, isLinear: false, flag: CancellationFlag())
        let component = image.components[0]
        let levels = Samples<Int16>(repeating: 0, count: component.blocks * 64)
        let bits: [Float] = (0..<16).map { 1 + 1.5 * Float($0) }
        let (step, strength) = (9.0, exp2(14.0))
        DCTrellis(step: UInt16(step), bits: bits, strength: Float(strength)).quantise(component, to: levels)
        func cost(_ levels: [Int]) -> Double {
            var (cost, last, knee) = (0.0, 0, exp2(16.5))
            for (block, level) in levels.enumerated() {
                let size = TinyJPEG.size(level - last)
                let error = Double(level) - Double(component.coefficients[block * 64]) / (8 * step)
                let masking = pow(knee / (knee + Double(component.norms[block])), 0.7)
                cost += Double(bits[size]) + Double(size) + 64 * strength / knee * masking * error * error
                last = level
            }
            return cost
        }
        let nearest = (0..<6).map { Int((Double(component.coefficients[$0 * 64]) / (8 * step)).rounded()) }
        let all = (0..<729).map { number in
            nearest.indices.map { nearest[$0] - 1 + [1, 3, 9, 27, 81, 243].map { number / $0 % 3 }[$0] }
        }
        let least = try #require(all.map(cost).min())
        #expect(abs(cost((0..<6).map { Int(levels[$0 * 64]) }) - least) < 0.001 * least)
        #expect(cost(nearest) > least)
    }

    @Test func `on gray paper, the step of DC keeps its brightness and is finer`() {
        for factor in [0.01, 0.2, 1, 4, 40] {
            let plain = QuantiserTable(factor: factor)
            for paper in [200.3, 238.9, 244] {
                let table = QuantiserTable(factor: factor, grayPaper: paper)
                let step = Double(table.natural[0])
                #expect(step <= max(1, Double(plain.natural[0]) / 3) && step >= Double(plain.natural[0]) / 6)
                #expect(table.natural.dropFirst() == plain.natural.dropFirst())
                #expect(abs(remainder(8 * (paper - 128), step)) <= max(2.5, 0.06 * step))
            }
        }
    }

    @Test func `the limit is used up even if the first files exceed it`() throws {
        var state: UInt64 = 3
        let noise = Plane(width: 96, height: 96, isFine: false)
        guard case .bytes(let samples) = noise.storage else { return #expect(Bool(false)) }
        for index in 0..<samples.count {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            samples[index] = UInt8(64 + (state >> 40) % 128)
        }
        let image = try CoefficientImage(
            DecodedImage(luma: noise, chroma: []), width: 96, height: 96, isLinear: false, flag: CancellationFlag())
        func rules(_ limit: Int) -> SearchRules { SearchRules(limit: limit, options: JPEGOptions()) }
        // The candidate was prepared for a limit that is two percent larger.
        let candidate = try EncodingCandidate(
            image, rules: rules(7_380), startFactor: 0.06, startRatio: rules(7_380).startRatio,
            flag: CancellationFlag())
        var search = FillSearch(candidate, rules: rules(7_235), flag: CancellationFlag())
        let bytes = try #require(try search.run()).bytes.count
        #expect(bytes <= 7_235 && Double(bytes) >= 0.997 * 7_235)
    }

    @Test func `higher fidelity uses more bytes with the same table`() throws {
        let image = try Self.image()
        for usesTrellis in [true, false] {
            let sizes = try [-0.5, 0, 0.5, 1, 1.5].map { fidelity in
                try QuantisedImage(
                    image, factor: 2, quantiser: Quantiser(usesTrellis: usesTrellis, fidelity: fidelity),
                    flag: CancellationFlag()
                ).estimate
            }
            #expect(sizes == sizes.sorted() && sizes[0] < sizes[4])
        }
    }

    @Test func `tables follow libjpeg's quality and stay in range`() {
        #expect(QuantiserTable.factor(quality: 50) == 1)
        #expect(QuantiserTable.factor(quality: 75) == 0.5)
        #expect(QuantiserTable.factor(quality: 25) == 2)
        #expect(QuantiserTable.factor(quality: 1) == 50)
        #expect(QuantiserTable.factor(quality: 100) == QuantiserTable.finest)
        #expect(QuantiserTable.naturalOfZigzag == TinyJPEG.naturalOfZigzag)
        for factor in [0.001, 0.05, 0.5, 5, 50, 5_000] {
            let table = QuantiserTable(factor: factor)
            #expect(table.natural.allSatisfy { (1...255).contains($0) })
            #expect(table.zigzag.sorted() == table.natural.sorted())
        }
    }

    @Test func `small changes of the factor change few entries`() {
        var last = QuantiserTable(factor: 0.2).natural
        for step in 1..<200 {
            let next = QuantiserTable(factor: 0.2 * exp(0.002 * Double(step))).natural
            #expect(zip(last, next).count(where: { $0 != $1 }) <= 10)
            last = next
        }
    }

    @Test func `the similarity metric compares what libjpeg decodes`() throws {
        let image = try Self.image()
        let levels = try QuantisedImage(
            image, factor: 1, quantiser: Quantiser(usesTrellis: true), flag: CancellationFlag())
        let metric = SimilarityMetric(Self.picture, rules: SearchRules(limit: 100_000, options: JPEGOptions()))
        let decoded = metric.decoded(levels, image.components[0])
        let seen = try DecodedPixels(try JPEGWriter.write(levels, image, script: .wide, flag: CancellationFlag()))
        #expect(decoded.width == 45 && decoded.height == 30)
        for y in 0..<30 {
            for x in 0..<45 { #expect(abs(Double(decoded.samples[y * 45 + x]) - seen.picture.luma[x, y]) <= 1) }
        }
    }

    @Test func `all scan scripts encode the same image`() throws {
        let image = try Self.image()
        let levels = try QuantisedImage(
            image, factor: 1, quantiser: Quantiser(usesTrellis: true), flag: CancellationFlag())
        let seen = try ScanScript.allCases.map {
            try DecodedPixels(try JPEGWriter.write(levels, image, script: $0, flag: CancellationFlag()))
        }
        for other in seen.dropFirst() {
            #expect((0..<30).allSatisfy { y in (0..<45).allSatisfy { seen[0].yCbCr($0, y) == other.yCbCr($0, y) } })
        }
    }

    @Test func `a coarser image has a larger distance`() throws {
        let scene = Scene.photo(240, 180)
        let picture = DecodedImage(luma: Plane(width: 240, height: 180) { Double(scene($0, $1).yCbCr[0]) }, chroma: [])
        let image = try CoefficientImage(picture, width: 240, height: 180, isLinear: false, flag: CancellationFlag())
        let metric = SimilarityMetric(picture, rules: SearchRules(limit: 100_000, options: JPEGOptions()))
        let distances = try [0.02, 0.5, 2, 8].map { factor in
            let levels = try QuantisedImage(
                image, factor: factor, quantiser: Quantiser(usesTrellis: true), flag: CancellationFlag())
            return metric.distance(of: levels, image)
        }
        #expect(distances == distances.sorted() && distances[0] < distances[3] / 4)
    }

    @Test func `a factor is found for a size, or the end of the range`() {
        let estimate: (Double) -> Double = { 1_000 + 50_000 * pow($0, -0.8) }
        let met = FactorSolver.solve(target: 20_000, from: 0.5, within: 0.01...40, tolerance: 0.001, estimate: estimate)
        #expect(met.isMet && abs(met.bytes / 20_000 - 1) <= 0.001)
        let low = FactorSolver.solve(target: 1e9, from: 0.5, within: 0.01...40, tolerance: 0.001, estimate: estimate)
        #expect(!low.isMet && low.factor == 0.01)
        let high = FactorSolver.solve(target: 500, from: 0.5, within: 0.01...40, tolerance: 0.001, estimate: estimate)
        #expect(!high.isMet && high.factor == 40)
    }

    /// Computes the estimate in the simplest way: runs and sizes counted in dictionaries.
    private static func plainEstimate(_ image: CoefficientImage, _ levels: QuantisedImage) -> Double {
        var counts: [Int: [Int: Double]] = [:]
        var bits = 0.0
        func note(_ table: Int, _ symbol: Int, extra: Int) {
            counts[table, default: [:]][symbol, default: 0] += 1
            bits += Double(extra)
        }
        for (component, levels) in zip(image.components, levels.levels) {
            var last = 0
            for block in 0..<component.blocks {
                let values = (0..<64).map { Int(levels[block * 64 + $0]) }
                note(component.tableClass, TinyJPEG.size(values[0] - last), extra: TinyJPEG.size(values[0] - last))
                last = values[0]
                var run = 0
                for value in values.dropFirst() {
                    guard value != 0 else {
                        run += 1
                        continue
                    }
                    for _ in 0..<run / 16 { note(component.tableClass + 2, 0xF0, extra: 0) }
                    note(component.tableClass + 2, (run % 16) << 4 | TinyJPEG.size(value), extra: TinyJPEG.size(value))
                    run = 0
                }
                if run > 0 { note(component.tableClass + 2, 0, extra: 0) }
            }
        }
        for table in counts.values {
            let total = table.values.reduce(0, +)
            for count in table.values { bits += count * min(16, max(1, log2(total / count) + 0.03)) + 8 }
        }
        return (bits + Double(152 * (image.components.count > 1 ? 4 : 2))) / 8 + 330
    }
}

/// Evaluates every combination of candidate levels of a block.
private struct PlainTrellis {
    let table: [Double]
    let bits: [Double]

    private func weight(_ k: Int, norm: Double) -> Double {
        let knee = exp2(16.5)
        return exp2(14) / knee * pow(knee / (knee + norm), 0.7) * 64 * table[k] / table[0]
    }

    /// Returns the bits and the weighted squared error of the AC levels that are not trivially zero.
    func cost(_ levels: [Int], _ coefficients: [Double], norm: Double) -> Double {
        var cost = 0.0
        var run = 0
        for k in 1..<64 {
            let exact = abs(coefficients[k]) / (8 * table[k])
            let level = abs(levels[k])
            if exact + 0.5 >= 1 { cost += weight(k, norm: norm) * (Double(level) - exact) * (Double(level) - exact) }
            guard level != 0 else {
                run += 1
                continue
            }
            cost += Double(run / 16) * bits[0xF0] + bits[(run % 16) << 4 | TinyJPEG.size(level)]
            cost += Double(TinyJPEG.size(level))
            run = 0
        }
        return run > 0 ? cost + bits[0] : cost
    }

    /// - Returns: The lowest cost, or `nil` for blocks with too many combinations.
    func least(_ coefficients: [Double], norm: Double) -> Double? {
        var choices: [(k: Int, levels: [Int])] = []
        for k in 1..<64 {
            let plain = Int((abs(coefficients[k]) / (8 * table[k]) + 0.5).rounded(.down))
            guard plain > 0 else { continue }
            let power = 1 << (TinyJPEG.size(plain) - 1)
            choices.append((k, Array(Set([0, plain, plain - 1, power - 1]))))
        }
        guard choices.reduce(1.0, { $0 * Double($1.levels.count) }) < 3_000 else { return nil }
        var least = Double.infinity
        func search(_ index: Int, _ levels: [Int]) {
            guard index < choices.count else {
                least = min(least, cost(levels, coefficients, norm: norm))
                return
            }
            for level in choices[index].levels {
                var next = levels
                next[choices[index].k] = level
                search(index + 1, next)
            }
        }
        search(0, [Int](repeating: 0, count: 64))
        return least
    }
}
