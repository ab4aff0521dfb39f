import CWaybillJPEG
import Glibc

/// Tells which of several encodings looks most like the picture, by how well gradients survive at three scales.
///
/// It compares luma as it would be decoded, without writing a file. 512 pixels a side weigh most: that is where
/// losing edges to coarseness and losing them to few pixels come out alike.
struct SimilarityJudge {
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
    private let pixelUnit: Double

    /// Makes a judge that compares every encoding with this picture.
    init(_ picture: Picture, rules: SearchRules) {
        weights = rules.comparesFinely ? [0.1, 0.1, 1] : [0.3, 1]
        sizeBias = rules.sizeBias
        pixelUnit = 1e6
        let side = rules.comparesFinely ? 2_048 : 1_024
        let size = PictureSize(width: picture.width, height: picture.height)
        let scale = min(1, Double(side) / Double(size.longSide))
        let finest = Level(
            width: max(1, Int((Double(size.width) * scale).rounded())),
            height: max(1, Int((Double(size.height) * scale).rounded())))
        unsafe picture.luma.resample(
            width: finest.width, height: finest.height, stepAcross: Double(size.width) / Double(finest.width),
            stepDown: Double(size.height) / Double(finest.height), isLinear: false
        ) { row, index in
            unsafe wb_jpeg_store_u8(row, Int32(finest.width), finest.samples.start + index * finest.width)
        }
        reference = Self.pyramid(finest, count: weights.count)
    }

    /// How far an encoding is from the picture: less is better.
    func distance(of levels: LevelImage, _ source: FrequencyImage) -> Double {
        let candidate = Self.pyramid(decoded(levels, source.components[0]), count: weights.count)
        var sum = 0.0
        for ((weight, one), other) in zip(zip(weights, reference), candidate) {
            sum +=
                unsafe weight
                * wb_jpeg_gradient_deviation(
                    one.samples.start, other.samples.start, Int32(one.width), Int32(one.height))
        }
        return sum * (1 - sizeBias * log(source.pixels / pixelUnit))
    }

    private static func pyramid(_ finest: Level, count: Int) -> [Level] {
        var levels = [finest]
        while levels.count < count { levels.append(levels[levels.count - 1].half) }
        return levels
    }

    /// Luma as a decoder would show it, at the reference's size.
    func decoded(_ image: LevelImage, _ component: FrequencyImage.Component) -> Level {
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
