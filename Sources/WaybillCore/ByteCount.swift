/// A number of bytes with an explicit unit.
///
/// ```swift
/// let limit: ByteCount = .kibibytes(100)          // 102,400
/// let typed = ByteCount("100KB")                   // 100,000: decimal, as the SI says
/// ```
///
/// Decimal units (`kB`, `MB`, `GB`) are powers of 1,000. Binary units (`KiB`, `MiB`, `GiB`) and the bare letters `K`,
/// `M` and `G`, as command lines use them, are powers of 1,024 (IEC 80000-13).
public struct ByteCount: Sendable, Hashable, Comparable, Codable {
    /// The count in bytes.
    public var bytes: Int64

    /// Creates a count from a number of bytes.
    public init(bytes: Int64) {
        self.bytes = bytes
    }

    /// Returns a count of bytes.
    public static func bytes(_ count: Int64) -> ByteCount { ByteCount(bytes: count) }
    /// Returns a count in units of 1,000 bytes.
    public static func kilobytes(_ count: Int64) -> ByteCount { ByteCount(bytes: count * 1_000) }
    /// Returns a count in units of 1,024 bytes.
    public static func kibibytes(_ count: Int64) -> ByteCount { ByteCount(bytes: count * 1_024) }
    /// Returns a count in units of 1,000,000 bytes.
    public static func megabytes(_ count: Int64) -> ByteCount { ByteCount(bytes: count * 1_000_000) }
    /// Returns a count in units of 1,048,576 bytes.
    public static func mebibytes(_ count: Int64) -> ByteCount { ByteCount(bytes: count * 1_048_576) }
    /// Returns a count in units of 1,073,741,824 bytes.
    public static func gibibytes(_ count: Int64) -> ByteCount { ByteCount(bytes: count * 1_073_741_824) }

    /// Compares two counts by their bytes.
    public static func < (lhs: ByteCount, rhs: ByteCount) -> Bool { lhs.bytes < rhs.bytes }
}

extension ByteCount: LosslessStringConvertible {
    /// Parses a size as typed by a user: `102400`, `100KB`, `100KiB`, `1.5M`, `200k`. Units are case-insensitive.
    ///
    /// - Returns: `nil` for an unknown unit, a negative number, or one beyond `Int64`.
    public init?(_ description: String) {
        let digits = description.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = description.dropFirst(digits.count).lowercased()
        guard let number = Double(digits), let scale = Self.scales[unit] else { return nil }
        let bytes = (number * scale).rounded()
        guard bytes < 9.2e18 else { return nil }
        self.init(bytes: Int64(bytes))
    }

    /// The count in the largest binary unit that does not exceed it: `512 B`, `100.0 KiB`, `4.2 MiB`.
    public var description: String {
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        guard bytes >= 1_024 else { return "\(bytes) B" }
        var value = Double(bytes) / 1_024
        var unit = 0
        while value >= 1_024, unit < units.count - 1 {
            value /= 1_024
            unit += 1
        }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    private static let scales: [String: Double] = [
        "": 1, "b": 1,
        "k": 1_024, "kib": 1_024, "kb": 1_000,
        "m": 1_048_576, "mib": 1_048_576, "mb": 1_000_000,
        "g": 1_073_741_824, "gib": 1_073_741_824, "gb": 1_000_000_000,
    ]
}
