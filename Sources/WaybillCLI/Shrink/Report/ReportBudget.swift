/// The number of bytes that a page embeds per image, which keeps it below 20 MB for any usual number of images.
///
/// All images have the same share of the page, so that a section can be written as soon as it is ready.
struct ReportBudget: Sendable, Hashable {
    /// The images that a section embeds.
    enum Images: Sendable, Hashable {
        /// The result itself, and the original compressed to at most this many bytes.
        case result(originalBytes: Int)
        /// Both compressed to at most this many bytes each.
        case reduced(bytes: Int)
        /// No images.
        case none
    }

    /// The maximum size of a page in bytes.
    static let pageBytes = 20_000_000
    /// The maximum size of a thumbnail in the table in bytes.
    static let thumbnailBytes = 6_000
    /// The size of the style, the script and the text around the sections.
    private static let frameBytes = 40_000
    /// The size of an image's table row, figures and curve.
    private static let textBytes = 14_000
    /// An original of 2048 pixels rarely has more bytes.
    private static let fineOriginalBytes = 1_200_000
    /// Sufficient for 640 pixels along the longer side.
    private static let reducedBytes = 30_000
    /// An image with fewer bytes shows too little.
    private static let minImageBytes = 6_000

    /// Whether the table has thumbnails.
    let hasThumbnails: Bool
    /// The number of image bytes in a section, before Base64 encodes three bytes as four.
    private let imageBytes: Int

    init(count: Int) {
        let share = (Self.pageBytes - Self.frameBytes) / max(1, count) - Self.textBytes
        let thumbnail = Self.thumbnailBytes * 4 / 3
        hasThumbnails = count > 1 && share > 2 * thumbnail
        // Base64 pads the last four characters of each of the two images.
        imageBytes = max(0, share - (hasThumbnails ? thumbnail : 0) - 8) * 3 / 4
    }

    /// Returns the images that a section embeds, for a result of the given size.
    func images(resultBytes: Int) -> Images {
        let remaining = imageBytes - resultBytes
        // An original with hardly more bytes than its result would not look better.
        if remaining >= min(3 * resultBytes, Self.fineOriginalBytes) { return .result(originalBytes: remaining) }
        let each = min(Self.reducedBytes, imageBytes / 2)
        return each >= Self.minImageBytes ? .reduced(bytes: each) : .none
    }
}
