import Glibc
import WaybillCore

/// The constants of the search for one mode and one limit. They were measured with photos, documents and cards between
/// 20 and 500 KiB, and scale with the limit.
struct SearchRules {
    /// The maximum size in bytes.
    let limit: Int
    /// Whether the image is a page of text, which is resampled in linear light and needs more pixels.
    let isDocument: Bool
    /// The brightness of the paper of a page if it is gray, as scanners record it.
    var grayPaper: Double?
    /// The factor at which resolution and quantization are in balance.
    let idealFactor: Double
    /// The finest allowed factor, determined by the requested quality.
    let finestFactor: Double
    /// Sizes in pixels: of the first trial, and the minimum and maximum that are chosen.
    let trialPixels: Double
    let floorPixels: Double
    let capPixels: Double
    /// The longer side of the smallest size that is tried.
    let leastSide: Int
    /// Images up to this number of pixels are also tried at, or rounded to, full size: resampling degrades fine text.
    let nativePixels: Double
    /// The number of pixels of the image that is kept while sizes are tried.
    let intermediatePixels: Double
    /// The tolerance of a trial.
    let trialTolerance: Double
    /// The discount for larger sizes in the comparison; negative for smaller sizes. The gradients alone prefer sizes at
    /// which quantization is visible, the more so at small limits.
    let sizeBias: Double
    /// Whether the comparison uses scales of 2048, 1024 and 512 pixels, or only the last two.
    let comparesFinely: Bool
    /// Whether several sizes are tried for large images, too.
    let triesSizes: Bool
    let usesTrellis: Bool
    let scripts: [ScanScript]
    /// The portion of the limit that is sufficient, and the portion that is aimed at.
    let goodFill: Double
    let aimedFill: Double
    let maxWrites: Int

    /// Creates the rules for upright sizes up to `largest`.
    init(limit: Int, options: JPEGOptions, largest: PixelSize? = nil) {
        self.limit = limit
        isDocument = options.isDocument
        leastSide = max(Self.defaultMinSide, options.minSide ?? 0)
        let leastPixels = options.minSide.flatMap { largest?.pixels(atLongSide: $0) } ?? 0
        let isBest = options.mode == .best
        let isDraft = options.mode == .draft
        let ratio = Double(limit) / 102_400
        let scale = pow(ratio, 0.75)
        finestFactor = options.quality.map(QuantiserTable.factor(quality:)) ?? QuantiserTable.finest
        let balance = (isBest ? 0.5 : 0.45) * pow(ratio, -0.4) * (isDocument ? 1.8 : 1)
        idealFactor = max(finestFactor, max(0.2, min(isDocument ? 1.4 : 0.8, balance)))
        trialPixels = (isBest ? 1.0e6 : 1.2e6) * scale
        floorPixels = max(leastPixels, (isDocument ? 1.9e6 : 0.25e6) * scale)
        capPixels = (isDocument ? 3.2e6 : 2.4e6) * scale
        nativePixels = 3.2e6 * scale
        intermediatePixels = max(leastPixels, 4e6, 4e6 * scale)
        trialTolerance = isBest ? 0.15 : 0.20
        sizeBias = isDocument ? 0.2 : -0.1
        comparesFinely = isBest
        triesSizes = isBest || isDocument && !isDraft
        usesTrellis = !isDraft
        scripts = isBest ? [.split, .plain, .wide, .library] : [.split]
        goodFill = isBest ? 0.997 : isDraft ? 0.985 : 0.992
        aimedFill = isBest ? 0.9985 : isDraft ? 0.9925 : 0.996
        maxWrites = isBest ? 7 : isDraft ? 4 : 5
    }

    /// An image is not scaled down below this to fit, because its content would not be recognizable.
    private static let defaultMinSide = 32

    /// Returns the error of a limit that is below the size of the smallest file.
    func unreachable(_ smallest: Int, at size: PixelSize) -> JPEGError {
        let hasFloor = leastSide > Self.defaultMinSide
        let remedy: Remedy = hasFloor ? .raiseImageLimitOrLowerSide : .raiseImageLimit
        return JPEGError(
            .cannotReachLimit,
            "The image cannot be compressed to \(limit) bytes. At \(size.width) x \(size.height) pixels and the lowest "
                + "quality it has \(smallest) bytes. \(remedy)", smallestBytes: smallest)
    }

    /// The allowed fidelities of the quantizer.
    var fidelities: ClosedRange<Double> { usesTrellis ? -0.5...3.0 : -1.5...2.0 }
    /// The size in bytes that is aimed at.
    var aimedBytes: Double { aimedFill * Double(limit) }
    /// The quantizer with its default balance.
    var quantiser: Quantiser { Quantiser(usesTrellis: usesTrellis, grayPaper: grayPaper) }
    /// The ratio of file size to the estimate before the trellis, until a write provides a better value.
    var startRatio: Double { usesTrellis ? 0.88 : 0.985 }
    /// The ratio of file size to the estimate after the trellis.
    var writtenRatio: Double { usesTrellis ? 0.974 : 0.985 }
}
