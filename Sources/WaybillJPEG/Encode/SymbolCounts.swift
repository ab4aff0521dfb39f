import CWaybillJPEG
import Glibc

/// How often each Huffman symbol occurs, by table class, with the bits that follow the symbols.
///
/// From it come the size of the file before it is written, and the price of each symbol for the trellis.
struct SymbolCounts {
    private var dc: [[UInt32]] = [Array(repeating: 0, count: 16), Array(repeating: 0, count: 16)]
    private var ac: [[UInt32]] = [Array(repeating: 0, count: 256), Array(repeating: 0, count: 256)]
    private var extraBits: UInt64 = 0
    private var classes = 0

    /// Counts a picture as it would be quantised, on every `n`-th pair of block rows for a rough answer.
    init(_ image: FrequencyImage, _ table: QuantiserTable, rounding: Float, everyPair n: Int = 1) {
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

    /// Counts nothing yet.
    init(componentCount: Int) { classes = componentCount > 1 ? 2 : 1 }

    /// Adds blocks as they would be quantised; `last` is the DC level before them.
    mutating func add(
        _ coefficients: UnsafePointer<Int16>, blocks: Int, tableClass: Int, _ table: QuantiserTable, rounding: Float,
        last: inout Int32
    ) {
        extraBits += unsafe wb_jpeg_count_quantised(
            coefficients, blocks, table.reciprocals, rounding, &last, &dc[tableClass], &ac[tableClass])
    }

    /// The bits that follow the symbols: less than the file will have.
    var leastBytes: Double { Double(extraBits) / 8 }

    /// Counts levels as they are.
    init(_ image: FrequencyImage, levels: [Samples<Int16>]) {
        classes = image.components.count > 1 ? 2 : 1
        for (component, levels) in zip(image.components, levels) {
            var last: Int32 = 0
            extraBits += unsafe wb_jpeg_count(
                levels.start, component.blocks, &last, &dc[component.tableClass], &ac[component.tableClass])
        }
    }

    /// The file's size in bytes as an optimised baseline file would have it. What is really written is a fixed few
    /// percent off, which the search learns.
    /// `share` is the part of the picture that was counted.
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
                // The 16 counts of a DHT segment and its head.
                tables += 152
            }
        }
        return (bits / share + tables) / 8 + 330
    }

    /// What each AC symbol costs, by table class. Symbols that never came cost 16 bits.
    var symbolBits: [[Float]] { ac.map { Self.lengths($0) } }

    private static func lengths(_ counts: [UInt32]) -> [Float] {
        let total = counts.reduce(0.0) { $0 + Double($1) }
        return counts.map { count in
            guard count > 0 else { return 16 }
            return Float(min(16, max(1, log2(total / Double(count)) + 0.03)))
        }
    }
}
