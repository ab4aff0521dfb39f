import CWaybillJPEG
import Glibc

/// Compares encodings with the original image by the preservation of gradients at three scales.
///
/// It compares luma as it would be decoded, without writing a file. The scale of 512 pixels per side has the largest
/// weight: at this scale, edges lost to quantization and edges lost to resolution count equally.
struct SimilarityMetric {
    struct Level {
        let width: Int
        let height: Int
        let samples: Samples<UInt8>

        init(width: Int, height: Int) {
            self.width = width
            self.height = height
            samples = Samples(count: width * height)
        }

        var half: Level {
            let half = Level(width: width / 2, height: height / 2)
            unsafe wb_jpeg_halve_u8(samples.start, Int32(width), Int32(height), half.samples.start)
            return half
        }
    }

    private let reference: [Level]
    private let weights: [Double]
    private let sizeBias: Double
    private let pixelUnit = 1e6

    static let finestSide = 2_048

    /// Creates a metric that compares encodings with this image, with the rules of a search.
    init(_ image: DecodedImage, rules: SearchRules) {
        self.init(image, isFine: rules.comparesFinely, sizeBias: rules.sizeBias)
    }

    /// Creates a metric that compares at 2048, 1024 and 512 pixels, or only at the last two.
    init(_ image: DecodedImage, isFine: Bool, sizeBias: Double) {
        weights = isFine ? [0.1, 0.1, 1] : [0.3, 1]
        self.sizeBias = sizeBias
        let side = isFine ? Self.finestSide : Self.finestSide / 2
        let size = PixelSize(width: image.width, height: image.height).capped(atSide: side)
        reference = Self.pyramid(Self.level(of: image, size), count: weights.count)
    }

    /// Returns the luma of an image at the size of the comparison.
    func level(of image: DecodedImage) -> Level {
        Self.level(of: image, PixelSize(width: reference[0].width, height: reference[0].height))
    }

    private static func level(of image: DecodedImage, _ size: PixelSize) -> Level {
        let level = Level(width: size.width, height: size.height)
        unsafe image.luma.resample(
            width: size.width, height: size.height, stepAcross: Double(image.width) / Double(size.width),
            stepDown: Double(image.height) / Double(size.height), isLinear: false
        ) { row, index in
            unsafe wb_jpeg_store_u8(row, Int32(size.width), level.samples.start + index * size.width)
        }
        return level
    }

    /// Returns the difference between an encoding and the original; smaller is better.
    func distance(of levels: QuantisedImage, _ source: CoefficientImage) -> Double {
        distance(to: decoded(levels, source.components[0])) * (1 - sizeBias * log(source.pixels / pixelUnit))
    }

    /// Returns the difference between an image at the size of the comparison and the original.
    func distance(to level: Level) -> Double {
        let candidate = Self.pyramid(level, count: weights.count)
        var sum = 0.0
        for ((weight, one), other) in zip(zip(weights, reference), candidate) {
            sum +=
                unsafe weight
                * wb_jpeg_gradient_deviation(
                    one.samples.start, other.samples.start, Int32(one.width), Int32(one.height))
        }
        return sum
    }

    private static func pyramid(_ finest: Level, count: Int) -> [Level] {
        var levels = [finest]
        while levels.count < count { levels.append(levels[levels.count - 1].half) }
        return levels
    }

    /// Returns the luma as a decoder would display it, at the size of the reference.
    func decoded(_ image: QuantisedImage, _ component: CoefficientImage.Component) -> Level {
        let target = Level(width: reference[0].width, height: reference[0].height)
        let resampler = PlaneResampler(
            horizontal: ResamplingPlan(
                inputCount: image.width, outputCount: target.width, step: Double(image.width) / Double(target.width),
                tapsMultipleOf: 4),
            vertical: ResamplingPlan(
                inputCount: image.height, outputCount: target.height,
                step: Double(image.height) / Double(target.height)),
            depth: .bytes, isLinear: false)
        let stride = component.blocksAcross * 8
        let rows = Samples<UInt8>(count: stride * 8)
        for blockRow in 0..<component.blocksDown {
            let start = unsafe image.levels[0].start + blockRow * component.blocksAcross * 64
            unsafe wb_jpeg_inverse(
                start, image.table.zigzag, Int32(component.blocksAcross), rows.start, Int32(stride))
            for row in 0..<min(8, image.height - blockRow * 8) {
                unsafe resampler.push(rows.start + row * stride) { row, index in
                    unsafe wb_jpeg_store_u8(row, Int32(target.width), target.samples.start + index * target.width)
                }
            }
        }
        return target
    }
}
