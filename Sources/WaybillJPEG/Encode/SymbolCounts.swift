import CWaybillJPEG
import Glibc

/// The frequency of each Huffman symbol by table class, and the number of additional bits.
///
/// Used to estimate the size of the file before it is written, and the cost of each symbol for the trellis.
struct SymbolCounts {
    private var dc: [[UInt32]] = [Array(repeating: 0, count: 16), Array(repeating: 0, count: 16)]
    private var ac: [[UInt32]] = [Array(repeating: 0, count: 256), Array(repeating: 0, count: 256)]
    private var extraBits: UInt64 = 0
    private var classes = 0

    /// Counts an image as it would be quantized; for a rough estimate, only every `n`-th pair of block rows.
    init(_ image: CoefficientImage, _ table: QuantiserTable, rounding: Float, everyPair n: Int = 1) {
        classes = image.components.count > 1 ? 2 : 1
        for component in image.components {
            var last: Int32 = 0
            var row = 0
            while row < component.blocksDown {
                let rows = n == 1 ? component.blocksDown : min(2, component.blocksDown - row)
                let start = unsafe component.coefficients.start + row * component.blocksAcross * 64
                extraBits += unsafe wb_jpeg_count_quantised(
                    start, rows * component.blocksAcross, table.reciprocals, rounding, &last,
                    &dc[component.tableClass], &ac[component.tableClass])
                row += n == 1 ? rows : 2 * n
            }
        }
    }

    /// Creates empty counts.
    init(componentCount: Int) { classes = componentCount > 1 ? 2 : 1 }

    /// Adds blocks as they would be quantized; `last` is the DC level before them.
    mutating func add(
        _ coefficients: UnsafePointer<Int16>, blocks: Int, tableClass: Int, _ table: QuantiserTable, rounding: Float,
        last: inout Int32
    ) {
        extraBits += unsafe wb_jpeg_count_quantised(
            coefficients, blocks, table.reciprocals, rounding, &last, &dc[tableClass], &ac[tableClass])
    }

    /// The size of the additional bits, a lower bound of the file size.
    var leastBytes: Double { Double(extraBits) / 8 }

    /// Counts the symbols of existing levels.
    init(_ image: CoefficientImage, levels: [Samples<Int16>]) {
        classes = image.components.count > 1 ? 2 : 1
        for (component, levels) in zip(image.components, levels) {
            var last: Int32 = 0
            extraBits += unsafe wb_jpeg_count(
                levels.start, component.blocks, &last, &dc[component.tableClass], &ac[component.tableClass])
        }
    }

    /// Returns the size in bytes of an optimized baseline file. The size actually written differs by a fixed few
    /// percent, which the search learns. `share` is the portion of the image that was counted.
    func bytes(share: Double = 1) -> Double {
        var bits = Double(extraBits)
        var tables = 0.0
        for index in 0..<classes {
            for counts in [dc[index], ac[index]] {
                let lengths = Self.lengths(counts)
                for (count, length) in zip(counts, lengths) where count > 0 {
                    bits += Double(count) * Double(length)
                    tables += 8
                }
                // The 16 counts of a DHT segment and its header.
                tables += 152
            }
        }
        return (bits / share + tables) / 8 + 330
    }

    /// The cost of each AC symbol in bits, by table class. Symbols that do not occur cost 16 bits.
    var symbolBits: [[Float]] { ac.map { Self.lengths($0) } }

    /// The cost of each DC symbol in bits, by table class.
    var dcSymbolBits: [[Float]] { dc.map { Self.lengths($0) } }

    private static func lengths(_ counts: [UInt32]) -> [Float] {
        let total = counts.reduce(0.0) { $0 + Double($1) }
        return counts.map { count in
            guard count > 0 else { return 16 }
            return Float(min(16, max(1, log2(total / Double(count)) + 0.03)))
        }
    }
}
