/// A baseline JPEG of gray noise, created without libjpeg: random levels in plain Huffman codes, so that the file is
/// large for its number of pixels and needs recompression to fit any limit.
enum NoisePhoto {
    /// Returns a photo with Exif orientation 6 (the camera was rotated) and a comment.
    static func bytes(width: Int, height: Int, seed: UInt64) -> [UInt8] {
        var bytes: [UInt8] = [0xFF, 0xD8]
        bytes += segment(0xE0, Array("JFIF\0".utf8) + [1, 1, 0, 0, 1, 0, 1, 0, 0])
        let entry: [UInt8] = [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0]
        bytes += segment(0xE1, Array("Exif\0\0MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 1] + entry + [0, 0, 0, 0])
        bytes += segment(0xFE, Array("made for a test".utf8))
        bytes += segment(0xDB, [0] + [UInt8](repeating: 8, count: 64))
        let size = [UInt8(height >> 8), UInt8(height & 255), UInt8(width >> 8), UInt8(width & 255)]
        bytes += segment(0xC0, [8] + size + [1, 1, 0x11, 0])
        // DC: sizes 0 to 11 in 4 bits each. AC: end of block, and sizes 1 to 4 without a run, in 8 bits each.
        bytes += segment(0xC4, [0x00, 0, 0, 0, 12] + [UInt8](repeating: 0, count: 12) + Array(0...11))
        bytes += segment(0xC4, [0x10] + [0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0] + [0, 1, 2, 3, 4])
        bytes += segment(0xDA, [1, 1, 0, 0, 63, 0])
        return bytes + scan(blocks: (width + 7) / 8 * ((height + 7) / 8), seed: seed) + [0xFF, 0xD9]
    }

    private static func scan(blocks: Int, seed: UInt64) -> [UInt8] {
        var random = seed
        func next(_ bound: UInt64) -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((random >> 33) % bound)
        }
        var bytes: [UInt8] = []
        var pending = 0
        var count = 0
        func put(_ value: Int, _ bits: Int) {
            pending = pending << bits | value
            count += bits
            while count >= 8 {
                count -= 8
                let byte = UInt8(truncatingIfNeeded: pending >> count)
                bytes.append(byte)
                if byte == 0xFF { bytes.append(0) }
            }
            pending &= (1 << count) - 1
        }
        for _ in 0..<blocks {
            put(0, 4)
            for _ in 0..<12 {
                let size = 1 + next(4)
                put(size, 8)
                put(next(1 << UInt64(size)), size)
            }
            put(0, 8)
        }
        if count > 0 { put((1 << (8 - count)) - 1, 8 - count) }
        return bytes
    }

    private static func segment(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] {
        [0xFF, marker, UInt8((body.count + 2) >> 8), UInt8((body.count + 2) & 255)] + body
    }
}
