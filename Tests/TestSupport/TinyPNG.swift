import CTestSupport

/// Writes PNG files of any kind, uncompressed, byte for byte.
package struct TinyPNG {
    /// The color types of the specification.
    package enum Kind: UInt8, Sendable, CaseIterable {
        case gray = 0
        case rgb = 2
        case palette = 3
        case grayAlpha = 4
        case rgba = 6

        package var channels: Int {
            switch self {
            case .gray, .palette: 1
            case .grayAlpha: 2
            case .rgb: 3
            case .rgba: 4
            }
        }
    }

    package var width: Int
    package var height: Int
    package var kind: Kind
    package var depth: Int
    package var isInterlaced = false
    /// The chunks before the image data, and those between it and the end.
    package var before: [[UInt8]] = []
    package var after: [[UInt8]] = []
    /// The samples of a pixel, each with `depth` bits.
    package var sample: (_ x: Int, _ y: Int) -> [Int]

    package init(
        _ width: Int, _ height: Int, _ kind: Kind, depth: Int = 8, sample: @escaping (_ x: Int, _ y: Int) -> [Int]
    ) {
        (self.width, self.height, self.kind, self.depth, self.sample) = (width, height, kind, depth, sample)
    }

    package static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    package func encoded() -> [UInt8] {
        let header =
            Self.word(width) + Self.word(height) + [UInt8(depth), kind.rawValue, 0, 0, isInterlaced ? 1 : 0]
        let chunks =
            [Self.chunk("IHDR", header)] + before + [Self.chunk("IDAT", Self.stored(passes()))] + after
            + [Self.chunk("IEND", [])]
        return Self.signature + chunks.joined()
    }

    /// Returns a chunk with its length and checksum.
    package static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + data
        let checksum = unsafe body.withUnsafeBytes { unsafe cts_crc32(0, $0.baseAddress!, $0.count) }
        return word(data.count) + body + word(Int(checksum))
    }

    /// Returns a zlib stream of stored blocks.
    package static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = [0x78, 0x01]
        var start = 0
        repeat {
            let end = min(start + 65_535, bytes.count)
            let (low, high) = (UInt8((end - start) & 255), UInt8((end - start) >> 8))
            output += [end == bytes.count ? 1 : 0, low, high, ~low, ~high] + bytes[start..<end]
            start = end
        } while start < bytes.count
        var (a, b) = (1, 0)
        for byte in bytes { (a, b) = ((a + Int(byte)) % 65_521, (a + Int(byte) + b) % 65_521) }
        return output + word(b << 16 | a)
    }

    private func passes() -> [UInt8] {
        guard isInterlaced else { return rows(0, 0, 1, 1) }
        return rows(0, 0, 8, 8) + rows(4, 0, 8, 8) + rows(0, 4, 4, 8) + rows(2, 0, 4, 4) + rows(0, 2, 2, 4)
            + rows(1, 0, 2, 2) + rows(0, 1, 1, 2)
    }

    private func rows(_ firstX: Int, _ firstY: Int, _ stepX: Int, _ stepY: Int) -> [UInt8] {
        guard firstX < width else { return [] }
        return stride(from: firstY, to: height, by: stepY).flatMap { y in
            // Each row begins with its filter: none.
            [0] + packed(stride(from: firstX, to: width, by: stepX).flatMap { sample($0, y) })
        }
    }

    private func packed(_ samples: [Int]) -> [UInt8] {
        switch depth {
        case 16: return samples.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        case 8: return samples.map { UInt8($0) }
        default:
            let perByte = 8 / depth
            return stride(from: 0, to: samples.count, by: perByte).map { start in
                (0..<perByte).reduce(0) { byte, index in
                    let sample = start + index < samples.count ? samples[start + index] : 0
                    return byte << UInt8(depth) | UInt8(sample)
                }
            }
        }
    }

    private static func word(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(value >> (24 - 8 * $0) & 255) } }
}
