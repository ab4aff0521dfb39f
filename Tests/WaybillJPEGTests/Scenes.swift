import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

/// A color with its JFIF luma and chroma.
struct RGBColor {
    var red: Int
    var green: Int
    var blue: Int

    var yCbCr: [Int] {
        let (r, g, b) = (Double(red), Double(green), Double(blue))
        let values = [
            0.299 * r + 0.587 * g + 0.114 * b, 128 - 0.168_736 * r - 0.331_264 * g + 0.5 * b,
            128 + 0.5 * r - 0.418_688 * g - 0.081_312 * b,
        ]
        return values.map { max(0, min(255, Int($0.rounded()))) }
    }
}

enum Scene {
    /// Four quarters of different color: red at the upper left, green at the upper right, blue at the lower left,
    /// pale at the lower right.
    static func quarters(_ width: Int, _ height: Int) -> (Int, Int) -> RGBColor {
        { x, y in
            switch (x < width / 2, y < height / 2) {
            case (true, true): RGBColor(red: 200, green: 30, blue: 40)
            case (false, true): RGBColor(red: 30, green: 180, blue: 60)
            case (true, false): RGBColor(red: 40, green: 50, blue: 190)
            case (false, false): RGBColor(red: 230, green: 220, blue: 200)
            }
        }
    }

    /// Shapes, gradients and grain: as hard to compress as a photo.
    static func photo(_ width: Int, _ height: Int, grain: Int = 24) -> (Int, Int) -> RGBColor {
        var random = SeededGenerator(seed: 7)
        let noise = (0..<width * height).map { _ in Int.random(in: -grain...grain, using: &random) }
        return { x, y in
            let (dx, dy) = (x - width / 2, y - height / 2)
            let isInside = dx * dx + dy * dy < width * height / 12
            let base: Int = isInside ? 190 - x * 60 / width : 60 + y * 90 / height
            let stripe: Int = (x / 7 + y / 11) % 2 * 25
            let value: Int = max(0, min(255, base + stripe + noise[y * width + x]))
            let blue: Int = value / 2 + (isInside ? 90 : 20)
            return RGBColor(red: value, green: max(0, value - 30), blue: min(255, blue))
        }
    }

    /// Returns a YCbCr file of a scene. `sampling` is that of luma; chroma has 1 x 1.
    static func file(
        _ width: Int, _ height: Int, sampling: (Int, Int) = (2, 2), segments: [[UInt8]] = [TinyJPEG.jfif],
        quantiser: UInt8 = 2, _ scene: (Int, Int) -> RGBColor
    ) -> [UInt8] {
        var planes: [[Int]] = Array(repeating: [], count: 3)
        for y in 0..<height {
            for x in 0..<width {
                for (index, value) in scene(x, y).yCbCr.enumerated() { planes[index].append(value) }
            }
        }
        let components = planes.enumerated().map { index, plane -> TinyJPEG.Component in
            let factors = index == 0 ? sampling : (1, 1)
            return TinyJPEG.Component(
                identifier: UInt8(index + 1), horizontal: factors.0, vertical: factors.1
            ) { x, y in plane[y * width + x] }
        }
        return TinyJPEG(
            width: width, height: height, components: components, segments: segments, quantiser: quantiser
        ).encoded()
    }

    /// A photo-like file of 240 x 180 pixels, cached because most tests use it.
    static let photoFile = file(240, 180, photo(240, 180))
}

/// A decoded file for inspection.
struct DecodedPixels {
    let header: JPEGHeader
    let picture: DecodedImage

    init(_ bytes: [UInt8]) throws {
        header = try JPEGHeader(parsing: bytes)
        let source = ImageSource(bytes, header)
        let loader = ImageLoader(source: source, isLinear: false, flag: CancellationFlag())
        picture = try loader.load(source.upright, eighths: 8)
    }

    /// Returns Y, Cb and Cr of a pixel, 0 to 255.
    func yCbCr(_ x: Int, _ y: Int) -> [Double] {
        let chroma = picture.chroma.map { $0[x / 2, y / 2] }
        return [picture.luma[x, y]] + (chroma.isEmpty ? [128, 128] : chroma)
    }

    /// Returns the mean difference to a scene, the largest of the three components.
    func distance(to scene: (Int, Int) -> RGBColor) -> Double {
        var sums = [0.0, 0.0, 0.0]
        for y in 0..<header.height {
            for x in 0..<header.width {
                for (index, (seen, wanted)) in zip(yCbCr(x, y), scene(x, y).yCbCr).enumerated() {
                    sums[index] += abs(seen - Double(wanted))
                }
            }
        }
        return sums.max()! / Double(header.width * header.height)
    }
}

extension Plane {
    /// A sample, 0 to 255.
    subscript(x: Int, y: Int) -> Double {
        switch storage {
        case .bytes(let samples): Double(samples[y * width + x])
        case .words(let samples): Double(samples[y * width + x]) / 256
        }
    }

    init(width: Int, height: Int, _ value: (Int, Int) -> Double) {
        self.init(width: width, height: height, isFine: true)
        guard case .words(let samples) = storage else { return }
        for y in 0..<height {
            for x in 0..<width { samples[y * width + x] = UInt16((value(x, y) * 256).rounded()) }
        }
    }
}

/// Recompresses on the thread of the test.
func recompress(_ bytes: [UInt8], _ options: JPEGOptions, flag: CancellationFlag = CancellationFlag()) throws(JPEGError)
    -> JPEGResult
{
    try Recompression(input: .bytes(bytes), options: options, flag: flag).run()
}

/// Returns the error code of a recompression, or `nil`.
func failure(_ bytes: [UInt8], _ options: JPEGOptions = .maxBytes(.kibibytes(100), mode: .fast)) -> JPEGError.Code? {
    do {
        _ = try recompress(bytes, options)
        return nil
    } catch {
        return error.code
    }
}

/// Returns the markers of a file up to its end. Entropy-coded data is skipped.
func markers(_ bytes: [UInt8]) -> [(code: UInt8, offset: Int)] {
    var found: [(code: UInt8, offset: Int)] = []
    var position = 2
    while position + 1 < bytes.count {
        let code = bytes[position + 1]
        guard bytes[position] == 0xFF, code != 0, code != 0xFF, !(0xD0...0xD7).contains(code) else {
            position += 1
            continue
        }
        found.append((code, position))
        if code == 0xD9 { break }
        position += 2 + Int(bytes[position + 2]) << 8 + Int(bytes[position + 3])
    }
    return found
}
