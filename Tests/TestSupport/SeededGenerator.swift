internal import Glibc

/// A random number generator with a reproducible seed (SplitMix64).
///
/// ```swift
/// var random = SeededGenerator()                  // a new seed each run, printed; WAYBILL_SEED sets it
/// let bytes = random.bytes(1_000)
/// ```
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    /// The seed, to be included in the comment of an expectation.
    package let seed: UInt64
    private var state: UInt64

    /// Uses the seed from the environment or else a random one, and prints it with the calling location.
    package init(file: StaticString = #fileID, line: UInt = #line) {
        let given = unsafe getenv("WAYBILL_SEED").flatMap { unsafe UInt64(String(cString: $0)) }
        self.init(seed: given ?? .random(in: .min ... .max))
        print("\(file):\(line): WAYBILL_SEED=\(seed)")
    }

    /// Starts from a known seed.
    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// Returns pseudo-random bytes that are always the same and fast to generate.
    package static func pattern(_ count: Int) -> [UInt8] {
        var random = SeededGenerator(seed: 1)
        let block = random.bytes(4_099)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + block.count)
        while bytes.count < count { bytes += block }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// Returns the given number of random bytes.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            let word = next()
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
