import Glibc

func sine(_ angle: Float) -> Float { sinf(angle) }
func cosine(_ angle: Float) -> Float { cosf(angle) }
func exponential(_ value: Float) -> Float { expf(value) }

/// Deterministic pseudorandom numbers: hashes of coordinates.
enum Hash {
    /// Returns a number from 0 to 1 for a grid point.
    static func unit(_ x: Int32, _ y: Int32, _ seed: UInt32) -> Float {
        Float(bits(x, y, seed) >> 8) / Float(1 << 24)
    }

    /// Returns 32 bits for a grid point.
    static func bits(_ x: Int32, _ y: Int32, _ seed: UInt32) -> UInt32 {
        var mixed = UInt32(bitPattern: x) &* 0x9e37_79b1 ^ UInt32(bitPattern: y) &* 0x85eb_ca77 ^ seed &* 0xc2b2_ae3d
        mixed = (mixed ^ (mixed >> 15)) &* 0x2c1b_3c6d
        mixed = (mixed ^ (mixed >> 12)) &* 0x297a_2d39
        return mixed ^ (mixed >> 15)
    }

    /// Returns smooth noise from 0 to 1: interpolated values of a grid.
    static func noise(_ x: Float, _ y: Float, _ seed: UInt32) -> Float {
        let (left, top) = (x.rounded(.down), y.rounded(.down))
        let (column, row) = (Int32(left), Int32(top))
        let (u, v) = (soft(x - left), soft(y - top))
        let upper = blend(unit(column, row, seed), unit(column + 1, row, seed), u)
        let lower = blend(unit(column, row + 1, seed), unit(column + 1, row + 1, seed), u)
        return blend(upper, lower, v)
    }

    private static func soft(_ value: Float) -> Float { value * value * (3 - 2 * value) }
    private static func blend(_ from: Float, _ to: Float, _ share: Float) -> Float { from + (to - from) * share }
}
