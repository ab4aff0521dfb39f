internal import Glibc

/// Writes small baseline JPEG files of any layout without libjpeg, with every byte under the control of the tests.
///
/// The Huffman codes are as simple as the format permits: all DC symbols in 4 bits, all AC symbols in 8.
package struct TinyJPEG {
    package struct Component {
        package var identifier: UInt8
        package var horizontal = 1
        package var vertical = 1
        /// Returns the sample at a pixel of the full-size image, 0 to 255.
        package var sample: (_ x: Int, _ y: Int) -> Int

        package init(
            identifier: UInt8, horizontal: Int = 1, vertical: Int = 1, sample: @escaping (_ x: Int, _ y: Int) -> Int
        ) {
            self.identifier = identifier
            self.horizontal = horizontal
            self.vertical = vertical
            self.sample = sample
        }
    }

    package var width: Int
    package var height: Int
    package var components: [Component]
    /// Complete segments inserted after SOI.
    package var segments: [[UInt8]] = [TinyJPEG.jfif]
    package var frameMarker: UInt8 = 0xC0
    package var precision: UInt8 = 8
    /// The value of every entry of the quantization table.
    package var quantiser: UInt8 = 2
    /// The number of MCUs between restart markers, and bytes to insert before each of these markers.
    package var restarts: (interval: Int, strayBytes: [UInt8])?

    package init(
        width: Int, height: Int, components: [Component], segments: [[UInt8]] = [TinyJPEG.jfif],
        frameMarker: UInt8 = 0xC0, precision: UInt8 = 8, quantiser: UInt8 = 2
    ) {
        self.width = width
        self.height = height
        self.components = components
        self.segments = segments
        self.frameMarker = frameMarker
        self.precision = precision
        self.quantiser = quantiser
    }

    package static let jfif: [UInt8] = [0xFF, 0xE0, 0, 16, 0x4A, 0x46, 0x49, 0x46, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0]

    package static func adobe(transform: UInt8) -> [UInt8] {
        [0xFF, 0xEE, 0, 14] + Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, transform]
    }

    package static func segment(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] {
        [0xFF, marker, UInt8((body.count + 2) >> 8), UInt8((body.count + 2) & 255)] + body
    }

    /// Returns an Exif segment that contains only an orientation.
    package static func exif(orientation: UInt16, isLittleEndian: Bool = true) -> [UInt8] {
        func short(_ value: UInt16) -> [UInt8] {
            isLittleEndian ? [UInt8(value & 255), UInt8(value >> 8)] : [UInt8(value >> 8), UInt8(value & 255)]
        }
        func long(_ value: UInt16) -> [UInt8] { isLittleEndian ? short(value) + [0, 0] : [0, 0] + short(value) }
        let mark: [UInt8] = isLittleEndian ? [0x49, 0x49] : [0x4D, 0x4D]
        let entry = short(0x0112) + short(3) + long(1) + short(orientation) + [0, 0]
        return segment(0xE1, Array("Exif\0\0".utf8) + mark + short(42) + long(8) + short(1) + entry + long(0))
    }

    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = [0xFF, 0xD8] + segments.flatMap { $0 }
        bytes += Self.segment(0xDB, [0] + Array(repeating: quantiser, count: 64))
        let size = [UInt8(height >> 8), UInt8(height & 255), UInt8(width >> 8), UInt8(width & 255)]
        bytes += Self.segment(
            frameMarker,
            [precision] + size + [UInt8(components.count)]
                + components.flatMap { [$0.identifier, UInt8($0.horizontal << 4 | $0.vertical), 0] })
        bytes += Self.segment(0xC4, [0x00, 0, 0, 0, 12] + Array(repeating: 0, count: 12) + Array(0...11))
        bytes += Self.segment(
            0xC4,
            [0x10] + Array(repeating: 0, count: 7) + [UInt8(Self.acSymbols.count)] + Array(repeating: 0, count: 8)
                + Self.acSymbols)
        if let restarts {
            bytes += Self.segment(0xDD, [UInt8(restarts.interval >> 8), UInt8(restarts.interval & 255)])
        }
        bytes += Self.segment(
            0xDA, [UInt8(components.count)] + components.flatMap { [$0.identifier, 0] } + [0, 63, 0])
        return bytes + scan() + [0xFF, 0xD9]
    }

    package static let acSymbols: [UInt8] =
        [0x00, 0xF0] + (0...15).flatMap { run in (1...10).map { UInt8(run << 4 | $0) } }

    package static let naturalOfZigzag: [Int] = (0..<64).sorted { one, other in
        let (a, b) = (one / 8 + one % 8, other / 8 + other % 8)
        if a != b { return a < b }
        return a % 2 == 0 ? one / 8 > other / 8 : one / 8 < other / 8
    }

    private func scan() -> [UInt8] {
        let across = components.map(\.horizontal).max() ?? 1
        let down = components.map(\.vertical).max() ?? 1
        // A single component is not interleaved: its MCU is a single block.
        let isSingle = components.count == 1
        let (mcuWidth, mcuHeight) = isSingle ? (8, 8) : (8 * across, 8 * down)
        var bits = BitWriter()
        var output: [UInt8] = []
        var count = 0
        var last = [Int](repeating: 0, count: components.count)
        for top in stride(from: 0, to: height, by: mcuHeight) {
            for left in stride(from: 0, to: width, by: mcuWidth) {
                if let restarts, count > 0, count % restarts.interval == 0 {
                    let number = UInt8((count / restarts.interval - 1) % 8)
                    output += bits.finished() + restarts.strayBytes + [0xFF, 0xD0 + number]
                    bits = BitWriter()
                    last = last.map { _ in 0 }
                }
                count += 1
                for (index, component) in components.enumerated() {
                    let (pitchX, pitchY) =
                        isSingle ? (1, 1) : (across / component.horizontal, down / component.vertical)
                    for block in 0..<(isSingle ? 1 : component.horizontal * component.vertical) {
                        let x = left + block % component.horizontal * 8 * pitchX
                        let y = top + block / component.horizontal * 8 * pitchY
                        let levels = self.levels(component, x, y, pitchX, pitchY)
                        write(levels, after: &last[index], to: &bits)
                    }
                }
            }
        }
        return output + bits.finished()
    }

    /// Returns the quantized levels of a block in zigzag order.
    private func levels(_ component: Component, _ left: Int, _ top: Int, _ pitchX: Int, _ pitchY: Int) -> [Int] {
        var samples = [Double](repeating: 0, count: 64)
        for index in 0..<64 {
            var sum = 0
            for dy in 0..<pitchY {
                for dx in 0..<pitchX {
                    let x = min(width - 1, left + index % 8 * pitchX + dx)
                    let y = min(height - 1, top + index / 8 * pitchY + dy)
                    sum += component.sample(x, y)
                }
            }
            samples[index] = Double(sum) / Double(pitchX * pitchY) - 128
        }
        let coefficients = PlainDCT.forward(samples)
        return Self.naturalOfZigzag.map { Int((coefficients[$0] / Double(quantiser)).rounded()) }
    }

    private func write(_ levels: [Int], after last: inout Int, to bits: inout BitWriter) {
        let difference = levels[0] - last
        last = levels[0]
        let size = Self.size(difference)
        bits.write(size, count: 4)
        bits.write(signed: difference, size: size)
        var run = 0
        for level in levels.dropFirst() {
            guard level != 0 else {
                run += 1
                continue
            }
            while run > 15 {
                bits.write(symbol: 0xF0)
                run -= 16
            }
            let clipped = max(-1_023, min(1_023, level))
            bits.write(symbol: UInt8(run << 4 | Self.size(clipped)))
            bits.write(signed: clipped, size: Self.size(clipped))
            run = 0
        }
        if run > 0 { bits.write(symbol: 0x00) }
    }

    package static func size(_ value: Int) -> Int { Int.bitWidth - abs(value).leadingZeroBitCount }
}

private struct BitWriter {
    private var bytes: [UInt8] = []
    private var pending: UInt64 = 0
    private var pendingCount = 0

    private static let codes: [UInt8: Int] = Dictionary(
        uniqueKeysWithValues: TinyJPEG.acSymbols.enumerated().map { ($0.element, $0.offset) })

    mutating func write(_ value: Int, count: Int) {
        pending = pending << UInt64(count) | UInt64(value & ((1 << count) - 1))
        pendingCount += count
        while pendingCount >= 8 {
            pendingCount -= 8
            let byte = UInt8(truncatingIfNeeded: pending >> UInt64(pendingCount))
            bytes.append(byte)
            if byte == 0xFF { bytes.append(0) }
        }
    }

    mutating func write(symbol: UInt8) { write(Self.codes[symbol]!, count: 8) }

    mutating func write(signed value: Int, size: Int) {
        write(value < 0 ? value + (1 << size) - 1 : value, count: size)
    }

    mutating func finished() -> [UInt8] {
        if pendingCount > 0 { write(0xFF, count: 8 - pendingCount) }
        return bytes
    }
}

/// The DCT as defined by the standard (ISO/IEC 10918-1 A.3.3), one dimension after the other.
package enum PlainDCT {
    private static let basis: [[Double]] = (0..<8).map { frequency in
        (0..<8).map { position in
            let scale = frequency == 0 ? 0.5 / 2.0.squareRoot() : 0.5
            return scale * cos(Double((2 * position + 1) * frequency) * .pi / 16)
        }
    }

    package static func forward(_ samples: [Double]) -> [Double] {
        transform(samples) { basis[$0][$1] }
    }

    package static func inverse(_ coefficients: [Double]) -> [Double] {
        transform(coefficients) { basis[$1][$0] }
    }

    private static func transform(_ input: [Double], _ weight: (Int, Int) -> Double) -> [Double] {
        var rows = [Double](repeating: 0, count: 64)
        var output = rows
        for y in 0..<8 {
            for u in 0..<8 { rows[y * 8 + u] = (0..<8).reduce(0) { $0 + input[y * 8 + $1] * weight(u, $1) } }
        }
        for u in 0..<8 {
            for v in 0..<8 { output[v * 8 + u] = (0..<8).reduce(0) { $0 + rows[$1 * 8 + u] * weight(v, $1) } }
        }
        return output
    }
}
