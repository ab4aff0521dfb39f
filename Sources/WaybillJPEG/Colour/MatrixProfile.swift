import Glibc

/// An RGB color space defined by its primaries and tone curves (ICC.1:2010, 8.3.2).
struct MatrixProfile: Sendable, Hashable {
    /// The matrix from linear light of the primaries to XYZ under D50, row by row.
    let rows: [[Double]]
    /// The curves from encoded values to linear light for red, green and blue; both from 0 to 1.
    let curves: [ToneCurve]

    /// XYZ under D50 to linear light of sRGB's primaries: IEC 61966-2-1, adapted from D65 by the Bradford method.
    private static let toSRGB = [
        [3.133_856_1, -1.616_866_7, -0.490_614_6], [-0.978_768_4, 1.916_141_5, 0.033_454_0],
        [0.071_945_3, -0.228_991_4, 1.405_242_7],
    ]

    /// The matrix from linear light of these primaries to that of sRGB.
    var lightToSRGB: [[Double]] {
        Self.toSRGB.map { row in
            (0..<3).map { column in (0..<3).reduce(0) { $0 + row[$1] * rows[$1][column] } }
        }
    }

    /// Whether the color space is visually identical to sRGB. Determined by the numbers: names are unreliable.
    var isSRGB: Bool {
        for (row, values) in lightToSRGB.enumerated() {
            for (column, value) in values.enumerated() where abs(value - (row == column ? 1 : 0)) > 0.01 {
                return false
            }
        }
        return curves.allSatisfy { curve in
            stride(from: 0, through: 1, by: 1.0 / 32).allSatisfy {
                abs(SRGB.value(of: curve.light(of: $0)) - $0) < 0.008
            }
        }
    }
}

/// A curve from encoded values to linear light in one of the forms of a profile (ICC.1:2010, 10.5 and 10.15).
enum ToneCurve: Sendable, Hashable {
    /// A power function.
    case gamma(Double)
    /// Light at evenly spaced values from 0 to 1, in 65,535ths.
    case table([UInt16])
    /// A power function with an offset at or above `d`, a linear function below it.
    case parametric(gamma: Double, a: Double, b: Double, c: Double, d: Double, e: Double, f: Double)

    /// The maximum number of table entries that are read; profiles have at most 1,024 or 4,096.
    private static let maxEntries = 65_536

    init?(_ reader: BigEndianReader, at offset: Int) {
        switch reader.long(offset) {
        case BigEndianReader.code("curv"):
            guard let count = reader.long(offset + 8), count <= Self.maxEntries else { return nil }
            if count == 0 {
                self = .gamma(1)
                return
            }
            var entries: [UInt16] = []
            for index in 0..<count {
                guard let entry = reader.short(offset + 12 + 2 * index) else { return nil }
                entries.append(UInt16(entry))
            }
            self = count == 1 ? .gamma(Double(entries[0]) / 256) : .table(entries)
        case BigEndianReader.code("para"):
            guard let curve = Self.parametric(reader, at: offset) else { return nil }
            self = curve
        default: return nil
        }
        guard isPlausible else { return nil }
    }

    private static func parametric(_ reader: BigEndianReader, at offset: Int) -> ToneCurve? {
        guard let kind = reader.short(offset + 8), kind <= 4 else { return nil }
        var values: [Double] = []
        for index in 0..<[1, 3, 4, 5, 7][kind] {
            guard let value = reader.fixed(offset + 12 + 4 * index) else { return nil }
            values.append(value)
        }
        guard kind > 0 else { return .gamma(values[0]) }
        let (gamma, a, b) = (values[0], values[1], values[2])
        guard a != 0 else { return nil }
        switch kind {
        case 1: return .parametric(gamma: gamma, a: a, b: b, c: 0, d: -b / a, e: 0, f: 0)
        case 2: return .parametric(gamma: gamma, a: a, b: b, c: 0, d: -b / a, e: values[3], f: values[3])
        case 3: return .parametric(gamma: gamma, a: a, b: b, c: values[3], d: values[4], e: 0, f: 0)
        default:
            return .parametric(
                gamma: gamma, a: a, b: b, c: values[3], d: values[4], e: values[5], f: values[6])
        }
    }

    /// Whether white remains bright and black dark; otherwise, the image would become unrecognizable.
    private var isPlausible: Bool {
        let (black, white) = (light(of: 0), light(of: 1))
        return black.isFinite && white.isFinite && black < 0.25 && white > 0.75
    }

    /// Returns the linear light of a value, both from 0 to 1.
    func light(of value: Double) -> Double {
        let result: Double
        switch self {
        case .gamma(let gamma): result = pow(value, gamma)
        case .table(let entries):
            let position = value * Double(entries.count - 1)
            let index = min(Int(position), entries.count - 2)
            let (low, high) = (Double(entries[index]), Double(entries[index + 1]))
            result = (low + (high - low) * (position - Double(index))) / 65_535
        case .parametric(let gamma, let a, let b, let c, let d, let e, let f):
            result = value >= d ? pow(max(0, a * value + b), gamma) + e : c * value + f
        }
        return min(1, max(0, result))
    }
}

/// The tone curve of sRGB (IEC 61966-2-1).
enum SRGB {
    static func value(of light: Double) -> Double {
        light <= 0.003_130_8 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055
    }
}
