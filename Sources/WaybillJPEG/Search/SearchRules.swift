import Glibc

/// The constants of the search, for one mode and one limit. They were measured on photos, documents and cards between
/// 20 and 500 KiB, and scale with the limit between and beyond.
struct SearchRules {
    /// The most bytes.
    let limit: Int
    /// The factor at which pixels and coarseness are in balance.
    let idealFactor: Double
    /// The finest factor that may be used: the quality asked for.
    let finestFactor: Double
    /// Sizes in pixels: of the first trial, and the least and the most that are chosen.
    let trialPixels: Double
    let floorPixels: Double
    let capPixels: Double
    /// The longer side of the smallest size that is tried.
    let leastSide: Int
    /// Pictures up to so many pixels are also tried, or snapped to, their own size: resampling hurts fine text.
    let nativePixels: Double
    /// Pixels of the picture that is kept while sizes are tried.
    let intermediatePixels: Double
    /// How far a trial may be off and still be taken.
    let trialTolerance: Double
    /// Whether larger sizes get a discount in the comparison.
    let sizeBias: Double
    /// Scales of the comparison: 2048, 1024 and 512 pixels, or only the last two.
    let comparesFinely: Bool
    /// Whether large pictures are tried at several sizes too.
    let triesSizes: Bool
    let usesTrellis: Bool
    let scripts: [ScanScript]
    /// Share of the limit that is good enough, and aimed at.
    let goodFill: Double
    let aimedFill: Double
    let mostWrites: Int

    /// Makes rules for sizes up to `largest`, upright.
    init(limit: Int, options: JPEGOptions, largest: PictureSize? = nil) {
        self.limit = limit
        leastSide = max(Self.usualLeastSide, options.minSide ?? 0)
        let leastPixels = options.minSide.flatMap { largest?.pixels(atLongSide: $0) } ?? 0
        let isBest = options.mode == .best
        let isDraft = options.mode == .draft
        let ratio = Double(limit) / 102_400
        let scale = pow(ratio, 0.75)
        finestFactor = options.quality.map(QuantiserTable.factor(quality:)) ?? QuantiserTable.finest
        let balance = (isBest ? 0.5 : 0.45) * pow(ratio, -0.4) * (options.isDocument ? 1.8 : 1)
        idealFactor = max(finestFactor, max(0.2, min(options.isDocument ? 1.4 : 0.8, balance)))
        trialPixels = (isBest ? 1.0e6 : 1.2e6) * scale
        floorPixels = max(leastPixels, (options.isDocument ? 1.5e6 : 0.25e6) * scale)
        capPixels = (options.isDocument ? 3.2e6 : 2.4e6) * scale
        nativePixels = 3.2e6 * scale
        intermediatePixels = max(leastPixels, 4e6, 4e6 * scale)
        trialTolerance = isBest ? 0.15 : 0.20
        sizeBias = options.isDocument ? 0.2 : 0.1
        comparesFinely = isBest
        triesSizes = isBest
        usesTrellis = !isDraft
        scripts = isBest ? [.split, .plain, .wide, .library] : [.split]
        goodFill = isBest ? 0.997 : isDraft ? 0.985 : 0.992
        aimedFill = isBest ? 0.9985 : isDraft ? 0.9925 : 0.996
        mostWrites = isBest ? 7 : isDraft ? 4 : 5
    }

    /// A picture is not shrunk below this to fit: its content would not be recognizable.
    private static let usualLeastSide = 32

    /// Whether the caller set the smallest size.
    var hasFloor: Bool { leastSide > Self.usualLeastSide }
    /// The quantiser in its usual balance.
    var quantiser: Quantiser { Quantiser(usesTrellis: usesTrellis) }
    /// Bytes of the file over the estimate before the trellis, until a write has told better.
    var startRatio: Double { usesTrellis ? 0.88 : 0.985 }
    /// Bytes of the file over the estimate after the trellis.
    var writtenRatio: Double { usesTrellis ? 0.974 : 0.985 }
}
