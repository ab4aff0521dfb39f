import Glibc

/// A quantization table: one base table, scaled by a factor, for both luma and chroma.
///
/// The base table is that of Nicolas Robidoux, slightly flattened. Each entry is rounded at its own threshold, so that
/// a small change of the factor changes few entries: with common rounding, dozens change together and the size jumps.
struct QuantiserTable {
    let factor: Double
    /// The entries in natural order, as used by libjpeg.
    let natural: [UInt16]
    /// The entries in zigzag order, as the coefficients are stored.
    let zigzag: [UInt16]
    /// 1 over eight times each entry, in zigzag order, because coefficients are stored times 8.
    let reciprocals: [Float]

    /// The coarsest factor: beyond it, most entries are 255 and hardly change any more.
    static let coarsest = 40.0
    /// The finest factor: nearly all entries are 1.
    static let finest = 0.01

    /// The step of DC relative to that of photos.
    let dcScale: Float

    /// Creates the table for a factor; `grayPaper` is the brightness of the paper of a page, unless it is white.
    init(factor: Double, grayPaper: Double? = nil) {
        self.factor = factor
        var natural = (0..<64).map { index in
            let golden = 0.618_034 * Double(index)
            let threshold = 0.3 + 0.4 * (golden - golden.rounded(.down))
            let entry = (Self.base[index] * factor + threshold).rounded(.down)
            return UInt16(max(1, min(255, entry)))
        }
        let plainStep = natural[0]
        if let grayPaper { natural[0] = Self.step(atMost: max(1, plainStep / 3), keeping: grayPaper) }
        dcScale = Float(natural[0]) / Float(plainStep)
        self.natural = natural
        zigzag = Self.naturalOfZigzag.map { natural[$0] }
        reciprocals = zigzag.map { 1 / (8 * Float($0)) }
    }

    /// Returns the largest step of DC, down to two thirds of `largest`, with which a brightness changes by at most a
    /// quarter of a unit, or the one with which it changes least.
    private static func step(atMost largest: UInt16, keeping brightness: Double) -> UInt16 {
        // The DC coefficient is eight times the mean, which is relative to 128.
        let coefficient = 8 * (brightness - 128)
        func error(_ step: UInt16) -> Double { abs(remainder(coefficient, Double(step))) }
        let steps = (max(1, largest * 2 / 3)...largest).reversed()
        return steps.first { error($0) <= 2 } ?? steps.min { error($0) < error($1) } ?? largest
    }

    /// Returns the factor for a quality from 1 to 100, as libjpeg scales its own tables (`jpeg_quality_scaling`).
    static func factor(quality: Int) -> Double {
        let factor = quality >= 50 ? Double(200 - 2 * quality) / 100 : 50 / Double(quality)
        return max(finest, factor)
    }

    /// Returns the quality from 1 to 100 closest to a factor.
    static func quality(factor: Double) -> Int {
        let quality = factor > 1 ? 50 / factor : 100 - 50 * factor
        return max(1, min(100, Int(quality.rounded())))
    }

    private static let upperTriangle: [[Double]] = [
        [16, 16, 16, 18, 25, 37, 56, 85],
        [17, 20, 27, 34, 40, 53, 75],
        [24, 31, 43, 62, 91, 135],
        [40, 53, 74, 106, 156],
        [69, 94, 131, 189],
        [124, 169, 238],
        [226, 311],
        [418],
    ]

    private static let base: [Double] = (0..<64).map { index in
        let (row, column) = (min(index / 8, index % 8), max(index / 8, index % 8))
        return 16 * pow(upperTriangle[row][column - row] / 16, 0.94)
    }

    static let naturalOfZigzag: [Int] = {
        // Diagonals in alternating directions (ISO/IEC 10918-1 figure A.6).
        let cells = (0..<64).map { (row: $0 / 8, column: $0 % 8) }
        let sorted = cells.sorted { one, other in
            let (first, second) = (one.row + one.column, other.row + other.column)
            if first != second { return first < second }
            return first % 2 == 0 ? one.row > other.row : one.row < other.row
        }
        return sorted.map { $0.row * 8 + $0.column }
    }()
}
