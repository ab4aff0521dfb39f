import CWaybillJPEG
import Glibc

/// How coefficients become levels.
enum Quantiser: Equatable {
    /// Rounding down from more than half: cheap, and most of the way.
    case deadZone
    /// Every level weighed against its bits; `strength` is the power of two of the weight of distortion.
    case trellis(strength: Double)

    static let usualTrellis = Quantiser.trellis(strength: 14)

    /// What is added before truncating, where no trellis decides.
    var plainRounding: Float { self == .deadZone ? 0.40 : 0.5 }
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

    init(_ image: FrequencyImage, factor: Double, quantiser: Quantiser, flag: StopFlag) throws(JPEGError) {
        width = image.width
        height = image.height
        table = QuantiserTable(factor: factor)
        levels = image.components.map { Samples(count: $0.blocks * 64) }
        let counts = SymbolCounts(image, table, rounding: quantiser.plainRounding)
        plainEstimate = counts.bytes()
        let bits = counts.symbolBits
        for (component, levels) in zip(image.components, levels) {
            try Self.fill(levels, component, table, quantiser, bits[component.tableClass], flag)
        }
        estimate = quantiser == .deadZone ? plainEstimate : SymbolCounts(image, levels: levels).bytes()
    }

    private static func fill(
        _ levels: Samples<Int16>, _ component: FrequencyImage.Component, _ table: QuantiserTable,
        _ quantiser: Quantiser, _ bits: [Float], _ flag: StopFlag
    ) throws(JPEGError) {
        for row in 0..<component.blocksDown {
            try flag.check()
            let first = row * component.blocksAcross
            let source = unsafe component.coefficients.start + first * 64
            let target = unsafe levels.start + first * 64
            switch quantiser {
            case .deadZone:
                unsafe wb_jpeg_quantise(
                    source, component.blocksAcross, table.reciprocals, quantiser.plainRounding, target)
            case .trellis(let strength):
                unsafe wb_jpeg_trellis(
                    source, component.norms.start + first, component.blocksAcross, table.zigzag, bits,
                    Float(exp2(strength)), target)
            }
        }
    }
}
