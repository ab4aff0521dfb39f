import Glibc
import WaybillJPEG

/// Deterministic images of 12 megapixels, which `make bench-jpeg` uses without a directory of photos. They contain what
/// is expensive for encoders: grain, edges, fine text, smooth areas.
enum Scene: String, CaseIterable {
    /// Hills under a sky, with grain.
    case landscape
    /// Rows of small dark strokes on unevenly lit paper.
    case page
    /// A card with a face, text and fine lines, on a wooden table.
    case card
    /// Soft colors with almost no detail.
    case blur

    static let width = 4_032
    static let height = 3_024

    /// Draws missing images.
    static func drawAll(in directory: String) async throws(JPEGError) {
        let recompressor = JPEGRecompressor(.quality(94, mode: .fast))
        for scene in allCases {
            let path = "\(directory)/\(scene.rawValue).jpg"
            if access(path, F_OK) == 0 { continue }
            let pixels = JPEGPixels(width: width, height: height, format: .rgb, bytes: scene.bytes())
            _ = try await recompressor.recompress(.pixels(pixels), to: path)
        }
    }

    private func bytes() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.width * Self.height * 3)
        var index = 0
        for y in 0..<Self.height {
            for x in 0..<Self.width {
                let colour = colour(x, y)
                let grain = (Noise.at(x, y, 7) - 0.5) * (self == .blur ? 3 : 9)
                for channel in 0..<3 {
                    bytes[index] = UInt8(max(0, min(255, colour[channel] + grain)))
                    index += 1
                }
            }
        }
        return bytes
    }

    private func colour(_ x: Int, _ y: Int) -> SIMD3<Float> {
        let u = Float(x) / Float(Self.width)
        let v = Float(y) / Float(Self.height)
        switch self {
        case .landscape: return Self.landscape(u, v)
        case .page: return Self.page(x, y, u, v)
        case .card: return Self.card(x, y, u, v)
        case .blur:
            let wave = Noise.cloud(u * 3, v * 3, octaves: 2)
            return SIMD3(90 + 120 * wave, 110 + 70 * v, 150 + 60 * (1 - wave) * u)
        }
    }

    private static func landscape(_ u: Float, _ v: Float) -> SIMD3<Float> {
        // From front to back: nearer hills hide farther ones.
        for (layer, base) in [Float(0.45), 0.58, 0.74].enumerated().reversed() {
            let ridge = base + 0.16 * (Noise.cloud(u * Float(3 + layer * 2), Float(layer) * 9, octaves: 6) - 0.5)
            guard v > ridge else { continue }
            let leaves = Noise.cloud(u * 160, v * 160, octaves: 4)
            let shade = SIMD3<Float>(70 - Float(layer) * 12, 105 - Float(layer) * 10, 80 - Float(layer) * 25)
            return shade + (leaves - 0.5) * Float(50 + layer * 45)
        }
        let cloud = max(0, Noise.cloud(u * 4, v * 7, octaves: 6) - 0.45) * 3
        return SIMD3(120 + 60 * v, 165 + 40 * v, 225) + SIMD3(130, 90, 30) * min(1, cloud)
    }

    private static func page(_ x: Int, _ y: Int, _ u: Float, _ v: Float) -> SIMD3<Float> {
        let paper = SIMD3<Float>(236, 231, 220) - SIMD3(repeating: 60 * (1 - u) * v)
        guard u > 0.08, u < 0.92, v > 0.06, v < 0.94 else { return paper }
        return strokes(x, y, pitch: 44, seed: 3) ? SIMD3(38, 36, 42) : paper
    }

    private static func card(_ x: Int, _ y: Int, _ u: Float, _ v: Float) -> SIMD3<Float> {
        guard u > 0.12, u < 0.88, v > 0.16, v < 0.84 else {
            let wood = Noise.cloud(u * 5, v * 90, octaves: 5)
            return SIMD3(120, 82, 50) + (wood - 0.5) * 90
        }
        let guilloche = sin(60 * u + 9 * sin(11 * v)) * sin(70 * v + 7 * sin(13 * u))
        var colour = SIMD3<Float>(206, 222, 226) + guilloche * 14
        let (dx, dy) = ((u - 0.72) / 0.09, (v - 0.46) / 0.17)
        let distance = dx * dx + dy * dy
        if distance < 1 {
            colour = SIMD3(212, 168, 140) - (1 - distance) * 30 * (Noise.cloud(u * 40, v * 40, octaves: 4) - 0.3)
        } else if u > 0.17, u < 0.58, v > 0.26, v < 0.76, strokes(x, y, pitch: 84, seed: 5) {
            colour = SIMD3(30, 34, 60)
        }
        return colour
    }

    /// Lines of pseudo-letters: each cell has three bars chosen by a hash of its position.
    private static func strokes(_ x: Int, _ y: Int, pitch: Int, seed: UInt32) -> Bool {
        let cell = pitch * 3 / 5
        let (column, row) = (x / cell, y / pitch)
        guard Noise.at(column, row, seed) > 0.16 else { return false }
        let (cx, cy) = (x % cell * 100 / cell, y % pitch * 100 / pitch)
        guard (12...82).contains(cx), (20...80).contains(cy) else { return false }
        let shape = Int(Noise.at(column, row, seed + 1) * 64)
        let thickness = 13
        return shape & 1 == 0 && cx < 12 + thickness || shape & 2 == 0 && cx > 82 - thickness
            || shape & 4 == 0 && cy < 20 + thickness || shape & 8 == 0 && cy > 80 - thickness
            || shape & 16 == 0 && abs(cy - 50) < thickness / 2 || shape & 32 == 0 && abs(cx - cy) < thickness / 2
    }
}

/// Pseudorandom numbers that depend only on the position.
private enum Noise {
    /// Returns a number from 0 to 1.
    static func at(_ x: Int, _ y: Int, _ seed: UInt32) -> Float {
        var hash = UInt32(truncatingIfNeeded: x) &* 0x9E37_79B1 ^ UInt32(truncatingIfNeeded: y) &* 0x85EB_CA77
        hash = (hash ^ seed &* 0xC2B2_AE3D ^ hash >> 15) &* 0x2C1B_3C6D
        hash = (hash ^ hash >> 12) &* 0x297A_2D39
        return Float((hash ^ hash >> 15) >> 8) / Float(1 << 24)
    }

    /// Returns smooth noise of several octaves, from 0 to 1.
    static func cloud(_ u: Float, _ v: Float, octaves: Int) -> Float {
        var sum: Float = 0
        var weight: Float = 0.5
        var scale: Float = 1
        for octave in 0..<octaves {
            sum += weight * smooth(u * scale, v * scale, UInt32(octave))
            weight /= 2
            scale *= 2
        }
        return sum / (1 - weight * 2)
    }

    private static func smooth(_ u: Float, _ v: Float, _ seed: UInt32) -> Float {
        let (x, y) = (Int(u.rounded(.down)), Int(v.rounded(.down)))
        let (fx, fy) = (u - Float(x), v - Float(y))
        let (sx, sy) = (fx * fx * (3 - 2 * fx), fy * fy * (3 - 2 * fy))
        let top = at(x, y, seed) * (1 - sx) + at(x + 1, y, seed) * sx
        let bottom = at(x, y + 1, seed) * (1 - sx) + at(x + 1, y + 1, seed) * sx
        return top * (1 - sy) + bottom * sy
    }
}
