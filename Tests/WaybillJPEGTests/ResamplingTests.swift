import Glibc
import TestSupport
import Testing

@testable import WaybillJPEG

@Suite struct ResamplingTests {
    static let axes: [(Int, Int, Double, Double)] = [
        (40, 17, 40.0 / 17, 0), (40, 40, 1, 0), (13, 40, 13.0 / 40, 0), (3, 1, 3, 0), (20, 10, 2, -0.5),
    ]

    @Test(arguments: axes)
    func `weights sum to one, exactly so in fixed point`(input: Int, output: Int, step: Double, offset: Double) {
        let plan = ResamplingPlan(inputCount: input, outputCount: output, step: step, offset: offset, tapsMultipleOf: 4)
        let fixed = plan.fixedPointWeights()
        for index in 0..<output {
            let range = index * plan.taps..<(index + 1) * plan.taps
            #expect(abs(plan.weights[range].reduce(0, +) - 1) < 1e-5)
            #expect(fixed[range].reduce(0) { $0 + Int($1) } == 16_384)
            #expect(plan.starts[index] >= 0)
        }
    }

    @Test(arguments: [
        (31, 23, 12, 9), (31, 23, 31, 9), (31, 23, 12, 23), (12, 10, 40, 30), (5, 64, 3, 20), (2, 2, 1, 1),
    ])
    func `streamed rows equal a plain two-dimensional sum`(width: Int, height: Int, newWidth: Int, newHeight: Int) {
        for isLinear in [false, true] {
            for isFine in [false, true] {
                let plane = Self.plane(width, height, isFine: isFine)
                let expected = Self.plain(plane, newWidth, newHeight, isLinear: isLinear)
                var rows = 0
                unsafe plane.resample(
                    width: newWidth, height: newHeight, stepAcross: Double(width) / Double(newWidth),
                    stepDown: Double(height) / Double(newHeight), isLinear: isLinear
                ) { row, index in
                    #expect(index == rows)
                    rows += 1
                    for x in 0..<newWidth {
                        let difference = unsafe abs(Double(row[x]) - expected[index][x])
                        // Tolerance for fixed-point weights and for squares stored as integers.
                        #expect(difference < (isLinear ? 1.0 : 0.1), "at \(x), \(index)")
                    }
                }
                #expect(rows == newHeight)
            }
        }
    }

    @Test(arguments: [4, 2], [1, 6])
    func `an image that libjpeg scales is not shifted`(eighths: Int, orientation: UInt16) throws {
        // A shift by half a pixel of the full size would change samples by 2.
        let scene = { (x: Int, y: Int) -> RGBColor in
            let value = 128 + Int(40 * sin(Double(x) / 10) + 40 * cos(Double(y) / 10))
            return RGBColor(red: value, green: value, blue: 255 - value)
        }
        let segments = [TinyJPEG.jfif, TinyJPEG.exif(orientation: orientation)]
        let file = Scene.file(250, 190, segments: segments, quantiser: 1, scene)
        let source = ImageSource(file, try JPEGHeader(parsing: file))
        let loader = ImageLoader(source: source, isLinear: false, flag: CancellationFlag())
        let size = source.upright.shrunk(toPixels: 250 * 190 / 25)
        let (full, scaled) = (try loader.load(size, eighths: 8), try loader.load(size, eighths: eighths))
        for (one, other) in zip([full.luma] + full.chroma, [scaled.luma] + scaled.chroma) {
            var sum = 0.0
            for y in 0..<one.height { for x in 0..<one.width { sum += abs(one[x, y] - other[x, y]) } }
            #expect(sum / Double(one.width * one.height) < 0.6)
        }
    }

    @Test func `the same size gives the same samples`() {
        let plane = Self.plane(19, 11, isFine: false)
        unsafe plane.resample(width: 19, height: 11, stepAcross: 1, stepDown: 1, isLinear: true) { row, index in
            for x in 0..<19 { unsafe #expect(Double(row[x]) == plane[x, index]) }
        }
    }

    @Test(arguments: 1...8, [false, true])
    func `rotating moves every sample to the position that Exif specifies`(orientation: Int, isFine: Bool) {
        let plane = Self.plane(37, 70, isFine: isFine)
        let turned = plane.turned(orientation)
        #expect(turned.width == (orientation >= 5 ? 70 : 37))
        for y in 0..<turned.height {
            for x in 0..<turned.width {
                let (right, bottom) = (36 - (orientation >= 5 ? y : x), 69 - (orientation >= 5 ? x : y))
                let wanted =
                    switch orientation {
                    case 2: plane[right, y]
                    case 3: plane[right, bottom]
                    case 4: plane[x, bottom]
                    case 5: plane[y, x]
                    case 6: plane[y, bottom]
                    case 7: plane[right, bottom]
                    case 8: plane[right, x]
                    default: plane[x, y]
                    }
                #expect(turned[x, y] == wanted)
            }
        }
    }

    @Test func `an image size keeps its aspect ratio and its limits`() {
        let size = PixelSize(width: 4_032, height: 3_024)
        #expect(size.shrunk(toPixels: 1e9) == size)
        #expect(size.shrunk(toPixels: 1e6) == PixelSize(width: 1_155, height: 866))
        #expect(PixelSize(width: 9_000, height: 1).shrunk(toPixels: 10) == PixelSize(width: 300, height: 1))
        for cap in 1..<400 {
            #expect(PixelSize(width: 31, height: 17).capped(atPixels: cap).pixels <= Double(cap))
        }
    }

    static func plane(_ width: Int, _ height: Int, isFine: Bool) -> Plane {
        let plane = Plane(width: width, height: height, isFine: isFine)
        let row = Samples<Float>(count: width)
        for y in 0..<height {
            for x in 0..<width { row[x] = Float((x * 37 + y * 91 + x * y * 13) % 256) }
            unsafe plane.store(row.start, at: y)
        }
        return plane
    }

    /// Applies Lanczos to both axes at the same time, directly from the kernel.
    private static func plain(_ plane: Plane, _ width: Int, _ height: Int, isLinear: Bool) -> [[Double]] {
        func weights(_ input: Int, _ output: Int, _ index: Int) -> [Double] {
            if input == output { return (0..<input).map { $0 == index ? 1 : 0 } }
            let step = Double(input) / Double(output)
            let center = (Double(index) + 0.5) * step
            let raw = (0..<input).map { sample -> Double in
                let distance = (Double(sample) + 0.5 - center) / max(1, step)
                if distance == 0 { return 1 }
                if abs(distance) >= 3 { return 0 }
                return sin(.pi * distance) / (.pi * distance) * sin(.pi * distance / 3) / (.pi * distance / 3)
            }
            return raw.map { $0 / raw.reduce(0, +) }
        }
        let squares = isLinear && (plane.width, plane.height) != (width, height)
        let across = (0..<width).map { weights(plane.width, width, $0) }
        return (0..<height).map { y in
            let down = weights(plane.height, height, y)
            let sums = (0..<plane.width).map { x in
                down.indices.reduce(0.0) { $0 + down[$1] * (squares ? plane[x, $1] * plane[x, $1] : plane[x, $1]) }
            }
            return across.map { weights in
                let value = weights.indices.reduce(0.0) { $0 + weights[$1] * sums[$1] }
                return squares ? max(0, value).squareRoot() : value
            }
        }
    }
}
