public import WaybillCore

/// What a picture has to become.
///
/// ```swift
/// let card = JPEGOptions.maxBytes(.kibibytes(100))             // the best picture in 102,400 bytes
/// let thumbnail = JPEGOptions(quality: 60, maxPixels: 640 * 480)
/// ```
///
/// With ``maxBytes`` the size in pixels and the coarseness are chosen together, so that the bytes buy the most. With
/// ``quality`` alone the pixels stay as they are, up to ``maxPixels`` and ``maxSide``. With both, quality is a ceiling.
/// With neither, the picture is re-written without loss; where that can't be done, or it must shrink for ``maxPixels`` or
/// ``maxSide``, quality 90 is used.
public struct JPEGOptions: Sendable, Hashable {
    /// How much work goes into the last bit of quality.
    public enum Mode: Sendable, Hashable, CaseIterable {
        /// The least work: about a tenth of a second for a photo of 12 megapixels.
        case draft
        /// One size in pixels, well encoded.
        case fast
        /// Several sizes tried, the most faithful one kept; about twice the work of ``fast``.
        case best
    }

    /// What happens with a picture that can't be decoded or made to fit.
    public enum FailurePolicy: Sendable, Hashable, CaseIterable {
        /// It is an error.
        case fail
        /// A JPEG file that is within the limits as it is goes out as it is, still without metadata; the report tells
        /// why. Its pixels are not turned, so an orientation stays as the only Exif entry, and its colours are not
        /// converted. What is no whole JPEG file, and what is over a limit, is an error all the same.
        case sendOriginal
    }

    /// The most bytes the picture may have. Never exceeded, not by one. `nil`: no limit.
    public var maxBytes: ByteCount?
    /// 1 (coarse) to 100 (fine), on libjpeg's scale; with ``maxBytes``, the finest that is used. `nil`: as fine as fits.
    public var quality: Int?
    /// The most pixels, width times height. Pictures are never enlarged. `nil`: as many as there are.
    public var maxPixels: Int?
    /// The most pixels of the longer side. Pictures are never enlarged. `nil`: as many as there are.
    public var maxSide: Int?
    /// The fewest pixels of the longer side that a picture is scaled down to for ``maxBytes``. A limit that can't be reached
    /// at that size is ``JPEGError/Code/cannotReachLimit``. Pictures are never enlarged. `nil`: 32.
    ///
    /// ```swift
    /// let card = JPEGOptions(maxBytes: .kibibytes(100), minSide: 1_000)      // small print stays legible, or it fails
    /// ```
    public var minSide: Int?
    /// How much work goes into it. `best` unless set.
    public var mode: Mode
    /// Whether fine text matters more than smooth areas: light is added as a lens would when the picture shrinks, and
    /// more pixels are kept. `false` unless set.
    public var isDocument: Bool
    /// What happens with a picture that can't be decoded or made to fit. `fail` unless set.
    public var onFailure: FailurePolicy

    /// Makes options; whatever is left out is not bounded.
    public init(
        maxBytes: ByteCount? = nil, quality: Int? = nil, maxPixels: Int? = nil, maxSide: Int? = nil,
        minSide: Int? = nil, mode: Mode = .best, isDocument: Bool = false, onFailure: FailurePolicy = .fail
    ) {
        self.maxBytes = maxBytes
        self.quality = quality
        self.maxPixels = maxPixels
        self.maxSide = maxSide
        self.minSide = minSide
        self.mode = mode
        self.isDocument = isDocument
        self.onFailure = onFailure
    }

    /// The best picture in so many bytes.
    public static func maxBytes(_ limit: ByteCount, mode: Mode = .best) -> JPEGOptions {
        JPEGOptions(maxBytes: limit, mode: mode)
    }

    /// A fixed quality from 1 to 100 at the picture's own size.
    public static func quality(_ quality: Int, mode: Mode = .best) -> JPEGOptions {
        JPEGOptions(quality: quality, mode: mode)
    }

    /// Says what is out of range, before any work is done.
    func check() throws(JPEGError) {
        if let quality, !(1...100).contains(quality) {
            throw JPEGError(.invalidOptions, "Quality \(quality) is outside 1 to 100.")
        }
        if let maxBytes, maxBytes.bytes < 1 {
            throw JPEGError(
                .invalidOptions, "A limit of \(maxBytes.bytes) bytes holds no picture; ask for at least 1,000.")
        }
        if let maxPixels, maxPixels < 1 {
            throw JPEGError(.invalidOptions, "A limit of \(maxPixels) pixels holds no picture.")
        }
        if let maxSide, maxSide < 1 {
            throw JPEGError(.invalidOptions, "A side of at most \(maxSide) pixels holds no picture.")
        }
        if let minSide, minSide < 1 {
            throw JPEGError(.invalidOptions, "The longer side must have at least 1 pixel; got \(minSide).")
        }
        if let minSide, let maxSide, minSide > maxSide {
            throw JPEGError(
                .invalidOptions,
                "The longer side can't have at least \(minSide) and at most \(maxSide) pixels. Change one of them.")
        }
    }
}
