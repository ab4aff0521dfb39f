/// What a page embeds of each image, so that it stays below 20 MB for any usual number of images.
///
/// Each image has the same share of the page, whatever the others need, so a section can be written as soon as it is made.
struct ReportBudget: Sendable, Hashable {
    /// The images that a section embeds.
    enum Images: Sendable, Hashable {
        /// The result itself, and the original reduced to so many bytes at most.
        case result(originalBytes: Int)
        /// Both reduced to so many bytes at most.
        case reduced(bytes: Int)
        /// None.
        case none
    }

    /// The most bytes of a page.
    static let pageBytes = 20_000_000
    /// The most bytes of a thumbnail in the table.
    static let thumbnailBytes = 6_000
    /// Style, script and the text around the sections.
    private static let frameBytes = 40_000
    /// The row in the table, figures and curve of an image.
    private static let textBytes = 14_000
    /// An original of 2048 pixels hardly ever has more bytes.
    private static let fineOriginalBytes = 1_200_000
    /// Plenty for 640 pixels along the longer side.
    private static let reducedBytes = 30_000
    /// An image of fewer bytes shows too little.
    private static let leastBytes = 6_000

    /// Whether the table has thumbnails.
    let hasThumbnails: Bool
    /// The bytes of images in a section, before base64 makes four of three.
    private let room: Int

    init(count: Int) {
        let share = (Self.pageBytes - Self.frameBytes) / max(1, count) - Self.textBytes
        let thumbnail = Self.thumbnailBytes * 4 / 3
        hasThumbnails = count > 1 && share > 2 * thumbnail
        // Base64 fills up the last four characters of each of two images.
        room = max(0, share - (hasThumbnails ? thumbnail : 0) - 8) * 3 / 4
    }

    /// What the section of an image embeds whose result has so many bytes.
    func images(resultBytes: Int) -> Images {
        let left = room - resultBytes
        // An original with hardly more bytes than its result would look no better.
        if left >= min(3 * resultBytes, Self.fineOriginalBytes) { return .result(originalBytes: left) }
        let each = min(Self.reducedBytes, room / 2)
        return each >= Self.leastBytes ? .reduced(bytes: each) : .none
    }
}
