import Waybill

/// The result of recompressing an image, as text and as JSON: the same for `shrink` and for forms.
enum ImageText {
    /// The change in bytes, then the size and the quality of the result: `2.2 MiB → 99.7 KiB, 1272 × 954, quality 59`.
    static func change(_ report: JPEGReport) -> String {
        let quality = report.quality.map { "quality \($0)" } ?? "no loss"
        return "\(size(report.originalBytes)) → \(size(report.bytes)), \(pixels(report)), \(quality)"
    }

    /// A warning about a result that was scaled down so far, only to meet a limit in bytes, that text in it may be
    /// unreadable; `nil` where the caller chose that size, or a floor.
    static func warning(_ name: String, _ report: JPEGReport, _ options: JPEGOptions) -> String? {
        guard let limit = options.maxBytes, options.minSide == nil, max(report.width, report.height) < readableSide,
            longestSide(report, options) >= Double(readableSide)
        else { return nil }
        return "warning: \(name): scaled down to \(pixels(report)) to fit \(limit); text may be unreadable. "
            + "Raise --max-bytes or set --min-side."
    }

    /// The members of a JSON object that `shrink` and forms have in common.
    static func members(_ report: JPEGReport) -> [JSONMember] {
        [
            JSONMember("originalBytes", .int(Int64(report.originalBytes))),
            JSONMember("bytes", .int(Int64(report.bytes))),
            JSONMember("originalWidth", .int(Int64(report.originalWidth))),
            JSONMember("originalHeight", .int(Int64(report.originalHeight))),
            JSONMember("width", .int(Int64(report.width))),
            JSONMember("height", .int(Int64(report.height))),
            JSONMember("quality", .int(orNull: report.quality.map(Int64.init))),
            JSONMember("passedThrough", .bool(report.isPassedThrough)),
        ]
    }

    /// Below so many pixels along the longer side, small print of a document is lost.
    private static let readableSide = 600

    /// The longer side that the image would have without a limit in bytes.
    private static func longestSide(_ report: JPEGReport, _ options: JPEGOptions) -> Double {
        let side = Double(max(report.originalWidth, report.originalHeight))
        let pixels = Double(report.originalWidth) * Double(report.originalHeight)
        let scale = options.maxPixels.map { (Double($0) / pixels).squareRoot() } ?? 1
        return min(side, side * scale, options.maxSide.map(Double.init) ?? .infinity)
    }

    private static func pixels(_ report: JPEGReport) -> String { "\(report.width) × \(report.height)" }

    private static func size(_ bytes: Int) -> String { ByteCount(bytes: Int64(bytes)).description }
}
