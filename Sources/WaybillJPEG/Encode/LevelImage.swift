import CWaybillJPEG
import Glibc

/// How coefficients become levels.
struct Quantiser {
    /// Whether every level is weighed against its bits. Without, levels are rounded down from more than half: cheap,
    /// and most of the way.
    let usesTrellis: Bool
    /// 0 is the usual balance; more spends more bytes on the same table, smoothly.
    var fidelity = 0.0

    /// What is added before truncating, where no trellis decides.
    var rounding: Float { usesTrellis ? 0.5 : Float(max(0.25, min(0.5, 0.40 + 0.05 * fidelity))) }

    /// The weight of distortion against bits.
    private var strength: Float { Float(exp2(14 + fidelity)) }

    /// Quantises blocks; `bits` is the length of each AC symbol.
    func quantise(
        _ coefficients: UnsafePointer<Int16>, _ norms: UnsafePointer<Float>, blocks: Int, _ table: QuantiserTable,
        _ bits: [Float], to levels: UnsafeMutablePointer<Int16>
    ) {
        if usesTrellis {
            unsafe Kernels.trellis(
                coefficients, norms, blocks: blocks, table.zigzag, bits, strength: strength, levels: levels)
        } else {
            unsafe wb_jpeg_quantise(coefficients, blocks, table.reciprocals, rounding, levels)
        }
    }
}

/// A picture's quantised levels with the table that belongs to them. The two never part: the levels of one table
/// under another are another picture.
struct LevelImage {
    let width: Int
    let height: Int
    let table: QuantiserTable
    let levels: [Samples<Int16>]
    /// Size by symbol counts before and after the trellis.
    let plainEstimate: Double
    let estimate: Double

    /// Quantises a picture. With `replacing`, in the memory of an earlier attempt on the same picture, which is spoilt.
    init(
        _ image: FrequencyImage, factor: Double, quantiser: Quantiser, flag: StopFlag, replacing old: LevelImage? = nil
    ) throws(JPEGError) {
        width = image.width
        height = image.height
        table = QuantiserTable(factor: factor)
        levels = old?.levels ?? image.components.map { Samples(count: $0.blocks * 64) }
        let counts = SymbolCounts(image, table, rounding: quantiser.rounding)
        plainEstimate = counts.bytes()
        let bits = counts.symbolBits
        for (component, levels) in zip(image.components, levels) {
            try Self.fill(levels, component, table, quantiser, bits[component.tableClass], flag)
        }
        estimate = quantiser.usesTrellis ? SymbolCounts(image, levels: levels).bytes() : plainEstimate
    }

    private static func fill(
        _ levels: Samples<Int16>, _ component: FrequencyImage.Component, _ table: QuantiserTable,
        _ quantiser: Quantiser, _ bits: [Float], _ flag: StopFlag
    ) throws(JPEGError) {
        for row in 0..<component.blocksDown {
            try flag.check()
            let first = row * component.blocksAcross
            unsafe quantiser.quantise(
                component.coefficients.start + first * 64, component.norms.start + first,
                blocks: component.blocksAcross, table, bits, to: levels.start + first * 64)
        }
    }
}
