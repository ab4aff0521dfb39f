import CWaybillJPEG
import Glibc

/// The conversion of coefficients to levels.
struct Quantiser {
    /// Whether every level is weighed against its bits. Otherwise, levels are rounded with a larger dead zone, which is
    /// cheap and achieves most of the effect.
    let usesTrellis: Bool
    /// The balance of distortion and size: 0 by default; larger values continuously spend more bytes.
    var fidelity = 0.0
    /// The brightness of the paper if the image is a page on gray paper. It is to stay the same everywhere: otherwise,
    /// noise decides which of two levels a block of paper gets, and the paper becomes a mosaic.
    var grayPaper: Double?

    /// The rounding offset that is added before truncation.
    var rounding: Float { usesTrellis ? 0.5 : Float(max(0.25, min(0.5, 0.40 + 0.05 * fidelity))) }

    /// The weight of distortion relative to bits.
    private var strength: Float { Float(exp2(14 + fidelity)) }

    /// Returns the quantization table for a factor.
    func table(factor: Double) -> QuantiserTable {
        QuantiserTable(factor: factor, grayPaper: grayPaper)
    }

    /// Quantizes blocks; `bits` contains the length of each AC symbol.
    func quantise(
        _ coefficients: UnsafePointer<Int16>, _ norms: UnsafePointer<Float>, blocks: Int, _ table: QuantiserTable,
        _ bits: [Float], to levels: UnsafeMutablePointer<Int16>
    ) {
        if usesTrellis {
            // The kernel weights errors relative to the step of DC.
            unsafe Kernels.trellis(
                coefficients, norms, blocks: blocks, table.zigzag, bits, strength: strength * table.dcScale,
                levels: levels)
        } else {
            unsafe wb_jpeg_quantise(coefficients, blocks, table.reciprocals, rounding, levels)
        }
    }

    /// Quantizes the DC coefficients of a component again, if the image needs it; `bits` contains the length of each DC
    /// symbol.
    func smoothDC(
        _ component: CoefficientImage.Component, _ table: QuantiserTable, _ bits: [Float], to levels: Samples<Int16>
    ) {
        guard usesTrellis, grayPaper != nil else { return }
        DCTrellis(step: table.natural[0], bits: bits, strength: strength).quantise(component, to: levels)
    }
}

/// The quantized levels of an image with their table: with another table, the levels are another image.
struct QuantisedImage {
    let width: Int
    let height: Int
    let table: QuantiserTable
    let levels: [Samples<Int16>]
    /// The estimated size from symbol counts before and after the trellis.
    let plainEstimate: Double
    let estimate: Double

    /// Quantizes an image. `replacing` reuses the memory of an earlier attempt on the same image, which is overwritten.
    init(
        _ image: CoefficientImage, factor: Double, quantiser: Quantiser, flag: CancellationFlag,
        replacing old: QuantisedImage? = nil
    ) throws(JPEGError) {
        width = image.width
        height = image.height
        table = quantiser.table(factor: factor)
        levels = old?.levels ?? image.components.map { Samples(count: $0.blocks * 64) }
        let counts = SymbolCounts(image, table, rounding: quantiser.rounding)
        plainEstimate = counts.bytes()
        let (dcBits, bits) = (counts.dcSymbolBits, counts.symbolBits)
        for (component, levels) in zip(image.components, levels) {
            try Self.fill(levels, component, table, quantiser, bits[component.tableClass], flag)
            quantiser.smoothDC(component, table, dcBits[component.tableClass], to: levels)
        }
        estimate = quantiser.usesTrellis ? SymbolCounts(image, levels: levels).bytes() : plainEstimate
    }

    private static func fill(
        _ levels: Samples<Int16>, _ component: CoefficientImage.Component, _ table: QuantiserTable,
        _ quantiser: Quantiser, _ bits: [Float], _ flag: CancellationFlag
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
