#if Images
    /// Counts the groups of Huffman codes of a lossless WebP image (RFC 9649, section 3), without decoding its pixels.
    ///
    /// libwebp allocates tables of up to 20 kB for each group at once, and a file of 300 kB can declare 65,536. Every read is
    /// bounds-checked.
    struct WebPCodeGroups {
        private var reader: LittleBitReader

        /// Returns the largest number of groups of the chunks of an image or a frame and its transparency; 1 if it is lossy
        /// or damaged, which libwebp reports.
        static func count(in frame: ArraySlice<UInt8>, width: Int, height: Int) -> Int {
            var largest = 1
            var position = frame.startIndex
            while position + 8 <= frame.endIndex {
                let length = (0..<4).reduce(0) { $0 | Int(frame[position + 4 + $1]) << (8 * $1) }
                let data = frame[position + 8..<min(frame.endIndex, position + 8 + length)]
                switch frame[position..<position + 4] {
                // 5 bytes of signature and size.
                case ArraySlice("VP8L".utf8): largest = max(largest, count(data.dropFirst(5), width, height))
                // The first byte contains the method; 1 is lossless.
                case ArraySlice("ALPH".utf8) where data.first.map { $0 & 3 } == 1:
                    largest = max(largest, count(data.dropFirst(), width, height))
                default: break
                }
                position += 8 + length + length % 2
            }
            return largest
        }

        private static func count(_ stream: ArraySlice<UInt8>, _ width: Int, _ height: Int) -> Int {
            var parser = WebPCodeGroups(reader: LittleBitReader(stream))
            return (try? parser.count(width, height)) ?? 1
        }

        private mutating func count(_ width: Int, _ height: Int) throws(Damage) -> Int {
            let width = try skipTransforms(width, height)
            if try reader.bits(1) == 1 { _ = try reader.bits(4) }
            guard try reader.bits(1) == 1 else { return 1 }
            let bits = try reader.bits(3) + 2
            let image = try image(Self.tiles(width, bits), Self.tiles(height, bits))
            // Red and green are the number of the group.
            return image.reduce(0) { max($0, Int($1 >> 8 & 0xFFFF)) } + 1
        }

        /// Skips the transforms; returns the width of the image that is stored.
        private mutating func skipTransforms(_ width: Int, _ height: Int) throws(Damage) -> Int {
            var width = width
            var seen: Set<Int> = []
            while try reader.bits(1) == 1 {
                let transform = try reader.bits(2)
                // Each occurs at most once. Otherwise, a small file could have thousands of images that take no bits.
                guard seen.insert(transform).inserted else { throw Damage() }
                switch transform {
                case 0, 1:
                    let bits = try reader.bits(3) + 2
                    _ = try image(Self.tiles(width, bits), Self.tiles(height, bits))
                case 3:
                    let colors = try reader.bits(8) + 1
                    _ = try image(colors, 1)
                    // Several pixels of few colors share one.
                    width = Self.tiles(width, colors <= 2 ? 3 : colors <= 4 ? 2 : colors <= 16 ? 1 : 0)
                default: break
                }
            }
            return width
        }

        private static func tiles(_ length: Int, _ bits: Int) -> Int { (length + (1 << bits) - 1) >> bits }

        /// Decodes an image that has one group of codes.
        private mutating func image(_ width: Int, _ height: Int) throws(Damage) -> [UInt32] {
            let cacheBits = try reader.bits(1) == 1 ? reader.bits(4) : 0
            guard cacheBits <= 11 else { throw Damage() }
            var cache = [UInt32](repeating: 0, count: 1 << cacheBits)
            var codes: [PrefixCode] = []
            for size in [280 + (cacheBits > 0 ? cache.count : 0), 256, 256, 256, 40] {
                codes.append(try PrefixCode(&reader, alphabet: size))
            }
            var pixels: [UInt32] = []
            pixels.reserveCapacity(width * height)
            func add(_ pixel: UInt32) {
                pixels.append(pixel)
                if cacheBits > 0 { cache[Int((0x1E35_A7BD &* pixel) >> (32 - UInt32(cacheBits)))] = pixel }
            }
            while pixels.count < width * height {
                let green = try codes[0].symbol(&reader)
                if green < 256 {
                    let (red, blue) = (try codes[1].symbol(&reader), try codes[2].symbol(&reader))
                    add(UInt32(try codes[3].symbol(&reader)) << 24 | UInt32(red << 16 | green << 8 | blue))
                } else if green < 280 {
                    let length = try number(green - 256)
                    let prefix = try codes[4].symbol(&reader)
                    let distance = Self.distance(try number(prefix), width)
                    guard distance <= pixels.count, length <= width * height - pixels.count else { throw Damage() }
                    for _ in 0..<length { add(pixels[pixels.count - distance]) }
                } else {
                    add(cache[green - 280])
                }
            }
            return pixels
        }

        /// Returns the length or distance of a prefix and the bits that follow it.
        private mutating func number(_ prefix: Int) throws(Damage) -> Int {
            guard prefix >= 4 else { return prefix + 1 }
            let extra = (prefix - 2) >> 1
            return (2 + prefix & 1) << extra + (try reader.bits(extra)) + 1
        }

        /// The 120 nearest pixels above and to the left, nearest first; pixels at the same distance by column.
        private static let near: [(x: Int, y: Int)] = (0...7).flatMap { y in
            (-7...8).filter { y > 0 || $0 > 0 }.map { (x: $0, y: y) }
        }.sorted { one, other in
            let (first, second) = (one.x * one.x + one.y * one.y, other.x * other.x + other.y * other.y)
            return (first, abs(one.x), -one.x) < (second, abs(other.x), -other.x)
        }

        private static func distance(_ code: Int, _ width: Int) -> Int {
            guard code <= near.count else { return code - near.count }
            return max(1, near[code - 1].x + near[code - 1].y * width)
        }
    }

    /// The data is damaged or incomplete.
    private struct Damage: Error {}

    /// A canonical prefix code.
    private struct PrefixCode {
        /// The symbols by length, then value.
        private var symbols: [Int] = []
        /// The number of codes of each length.
        private var counts = [Int](repeating: 0, count: 16)

        private static let longest = 15
        private static let order = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]

        init(_ reader: inout LittleBitReader, alphabet: Int) throws(Damage) {
            var lengths = [Int](repeating: 0, count: alphabet)
            if try reader.bits(1) == 1 {
                let isPair = try reader.bits(1) == 1
                let isWide = try reader.bits(1) == 1
                var symbols = [try reader.bits(isWide ? 8 : 1)]
                if isPair { symbols.append(try reader.bits(8)) }
                for symbol in symbols {
                    guard symbol < alphabet else { throw Damage() }
                    lengths[symbol] = 1
                }
            } else {
                var own = [Int](repeating: 0, count: 19)
                for index in 0..<(try reader.bits(4) + 4) {
                    guard index < own.count else { throw Damage() }
                    own[Self.order[index]] = try reader.bits(3)
                }
                try Self.read(&lengths, &reader, PrefixCode(lengths: own))
            }
            self = try PrefixCode(lengths: lengths)
        }

        private init(lengths: [Int]) throws(Damage) {
            for length in lengths where length > 0 { counts[length] += 1 }
            for length in 1...Self.longest where counts[length] > 0 {
                symbols += lengths.indices.filter { lengths[$0] == length }
            }
            let used = (1...Self.longest).reduce(0) { $0 + counts[$1] << (Self.longest - $1) }
            guard symbols.count == 1 || used == 1 << Self.longest else { throw Damage() }
        }

        private static func read(
            _ lengths: inout [Int], _ reader: inout LittleBitReader, _ code: PrefixCode
        ) throws(Damage) {
            var left = lengths.count
            if try reader.bits(1) == 1 {
                let width = 2 + 2 * (try reader.bits(3))
                left = 2 + (try reader.bits(width))
                guard left <= lengths.count else { throw Damage() }
            }
            var (index, last) = (0, 8)
            while index < lengths.count, left > 0 {
                left -= 1
                let symbol = try code.symbol(&reader)
                if symbol < 16 {
                    lengths[index] = symbol
                    index += 1
                    if symbol > 0 { last = symbol }
                    continue
                }
                let (bits, least) = [(2, 3), (3, 3), (7, 11)][symbol - 16]
                let count = try reader.bits(bits) + least
                guard index + count <= lengths.count else { throw Damage() }
                for _ in 0..<count {
                    lengths[index] = symbol == 16 ? last : 0
                    index += 1
                }
            }
        }

        /// Reads a symbol, the most significant bit of its code first. The only symbol of a code takes no bits.
        func symbol(_ reader: inout LittleBitReader) throws(Damage) -> Int {
            if symbols.count == 1 { return symbols[0] }
            var (code, first, index) = (0, 0, 0)
            for length in 1...Self.longest {
                code |= try reader.bits(1)
                if code - first < counts[length] { return symbols[index + code - first] }
                index += counts[length]
                first = (first + counts[length]) << 1
                code <<= 1
            }
            throw Damage()
        }
    }

    /// Reads bits, the least significant one of each byte first.
    private struct LittleBitReader {
        private let bytes: ArraySlice<UInt8>
        private var position: Int

        init(_ bytes: ArraySlice<UInt8>) {
            self.bytes = bytes
            position = 8 * bytes.startIndex
        }

        mutating func bits(_ count: Int) throws(Damage) -> Int {
            guard position + count <= 8 * bytes.endIndex else { throw Damage() }
            var value = 0
            for index in 0..<count {
                value |= Int(bytes[position >> 3] >> (position & 7) & 1) << index
                position += 1
            }
            return value
        }
    }
#endif
