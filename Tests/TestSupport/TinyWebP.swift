import CTestSupport

/// Writes WebP files: the image data by libwebp, the container byte for byte.
package enum TinyWebP {
    /// Returns a file of RGB or RGBA pixels.
    package static func file(
        _ width: Int, _ height: Int, channels: Int, pixels: [UInt8], isLossless: Bool
    ) -> [UInt8] {
        precondition(pixels.count == width * height * channels)
        var count = 0
        let start = unsafe cts_webp_encode(
            pixels, Int32(width), Int32(height), Int32(channels), isLossless ? 1 : 0, &count)
        defer { unsafe cts_webp_free(start) }
        return unsafe Array(UnsafeBufferPointer(start: start, count: count))
    }

    /// Returns the pixels as libwebp decodes them in one call.
    package static func pixels(of file: [UInt8], channels: Int) -> [UInt8] {
        var (width, height): (Int32, Int32) = (0, 0)
        let start = unsafe cts_webp_decode(file, file.count, Int32(channels), &width, &height)
        defer { unsafe cts_webp_free(start) }
        return unsafe Array(UnsafeBufferPointer(start: start, count: Int(width) * Int(height) * channels))
    }

    /// Returns an extended file (VP8X) with metadata around the image data of a simple file.
    package static func extended(
        _ simple: [UInt8], _ width: Int, _ height: Int, profile: [UInt8]? = nil, exif: [UInt8]? = nil,
        xmp: [UInt8]? = nil
    ) -> [UInt8] {
        let hasAlpha = imageData(simple).starts(with: Array("ALPH".utf8))
        let metadata: UInt8 = (profile == nil ? 0 : 0x20) | (exif == nil ? 0 : 0x08) | (xmp == nil ? 0 : 0x04)
        let flags = metadata | (hasAlpha ? 0x10 : 0)
        return riff(
            header(flags, width, height) + (profile.map { chunk("ICCP", $0) } ?? []) + imageData(simple)
                + (exif.map { chunk("EXIF", $0) } ?? []) + (xmp.map { chunk("XMP ", $0) } ?? []))
    }

    /// Returns an animation of simple files of the same size. It is that of the animation unless `size` is given; `at` is
    /// the place of each frame, in even numbers.
    package static func animation(
        _ frames: [[UInt8]], _ width: Int, _ height: Int, at place: (x: Int, y: Int) = (0, 0),
        size: (width: Int, height: Int)? = nil
    ) -> [UInt8] {
        let size = size ?? (width, height)
        let control = chunk("ANIM", [255, 255, 255, 255, 0, 0])
        return riff(
            header(0x02, width, height) + control
                + frames.flatMap { frame in
                    let place = three(place.x / 2) + three(place.y / 2)
                    let size = three(size.width - 1) + three(size.height - 1)
                    return chunk("ANMF", place + size + three(100) + [0] + imageData(frame))
                })
    }

    /// Returns a lossless image of one color that declares a number of groups of codes, at most 65,536: one for each tile
    /// of 4 x 4 pixels, in order and repeatedly. Before them, it has a number of predictor transforms; one is valid.
    package static func grouped(_ width: Int, _ height: Int, groups: Int, predictors: Int = 0) -> [UInt8] {
        var bits = BitWriter()
        for (value, count) in [(0x2F, 8), (width - 1, 14), (height - 1, 14), (0, 4)] { bits.put(value, count) }
        // A predictor for tiles of 4 x 4 pixels, whose image has no cache and five codes of a single symbol.
        for _ in 0..<predictors {
            for (value, count) in [(1, 1), (0, 2), (0, 3), (0, 1)] + Self.single { bits.put(value, count) }
        }
        // No more transforms, no cache, groups for tiles of 4 x 4 pixels; their image has no cache.
        for (value, count) in [(0, 1), (0, 1), (1, 1), (0, 3), (0, 1)] { bits.put(value, count) }
        bits.putEightBitCode(alphabet: 280)
        bits.putEightBitCode(alphabet: 256)
        for _ in 0..<3 { bits.put(1, 4) }
        for tile in 0..<(width + 3) / 4 * ((height + 3) / 4) {
            let group = tile % groups
            bits.putReversed(group & 255)
            bits.putReversed(group >> 8)
        }
        // Five codes of a single symbol each, so that a pixel takes no bits.
        for _ in 0..<5 * groups { bits.put(1, 4) }
        return riff(chunk("VP8L", bits.bytes + [0, 0, 0, 0]))
    }

    /// Five codes of the symbol 0, which takes no bits.
    private static let single = [(Int, Int)](repeating: (1, 4), count: 5)

    /// Writes bits, the least significant one of each byte first.
    private struct BitWriter {
        private(set) var bytes: [UInt8] = []
        private var free = 0

        mutating func put(_ value: Int, _ count: Int) {
            for index in 0..<count {
                if free == 0 { bytes.append(0) }
                if value >> index & 1 == 1 { bytes[bytes.count - 1] |= 1 << UInt8(8 - (free == 0 ? 8 : free)) }
                free = free == 0 ? 7 : free - 1
            }
        }

        /// Writes a symbol of a code of 8 bits per symbol, whose most significant bit is first.
        mutating func putReversed(_ value: Int) {
            for index in (0..<8).reversed() { put(value >> index, 1) }
        }

        /// Writes a code of 8 bits for each of the first 256 symbols.
        mutating func putEightBitCode(alphabet: Int) {
            put(0, 1)
            // The only length is 8, whose place is the twelfth.
            put(8, 4)
            for index in 0..<12 { put(index == 11 ? 1 : 0, 3) }
            if alphabet == 256 {
                put(0, 1)
            } else {
                for (value, count) in [(1, 1), (3, 3), (254, 8)] { put(value, count) }
            }
        }
    }

    private static func header(_ flags: UInt8, _ width: Int, _ height: Int) -> [UInt8] {
        chunk("VP8X", [flags, 0, 0, 0] + three(width - 1) + three(height - 1))
    }

    /// The chunks after the 12 bytes of the RIFF header, and after the 18 bytes of a VP8X chunk, which a lossy file with
    /// transparency has.
    private static func imageData(_ simple: [UInt8]) -> ArraySlice<UInt8> {
        let chunks = simple.dropFirst(12)
        return chunks.starts(with: Array("VP8X".utf8)) ? chunks.dropFirst(18) : chunks
    }

    private static func riff(_ chunks: [UInt8]) -> [UInt8] {
        Array("RIFF".utf8) + four(chunks.count + 4) + Array("WEBP".utf8) + chunks
    }

    private static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        Array(name.utf8) + four(data.count) + data + (data.count % 2 == 1 ? [0] : [])
    }

    private static func three(_ value: Int) -> [UInt8] { (0..<3).map { UInt8(value >> (8 * $0) & 255) } }
    private static func four(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(value >> (8 * $0) & 255) } }
}
