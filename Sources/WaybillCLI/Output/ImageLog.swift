import Waybill

/// Collects the results of recompressing the images of forms, and prints a line for each as soon as it is made.
final class ImageLog: Sendable {
    /// An image part of a form.
    struct Part: Sendable, Hashable {
        /// The file of `--each` whose form it belongs to.
        var form: String?
        /// The position among the parts of the form.
        var index: Int
        var name: String
        var path: String
    }

    private let console: Console
    private let printsLines: Bool
    private let printsWarnings: Bool
    private let reports = Locked<[String?: [Int: (part: Part, report: JPEGReport)]]>([:])

    /// Makes a log that prints no lines beside JSON, and nothing at all for `-q`.
    init(_ console: Console = .standard, isSilent: Bool = false, isJSON: Bool = false) {
        self.console = console
        printsLines = !isSilent && !isJSON
        printsWarnings = !isSilent
    }

    convenience init(_ output: OutputOptions) { self.init(isSilent: output.silent, isJSON: output.json) }

    /// Adds an image that was made.
    func add(_ part: Part, _ report: JPEGReport, _ options: JPEGOptions) {
        reports.withLock { $0[part.form, default: [:]][part.index] = (part, report) }
        if printsLines { console.line("\(part.path): \(ImageText.change(report))") }
        if printsWarnings, let warning = ImageText.warning(part.path, report, options) { console.line(warning) }
    }

    /// The member `images` of a form, in the order of its parts; nothing if no image of it was made.
    func members(of form: String? = nil) -> JSONObject {
        let made = reports.withLock { $0[form] ?? [:] }
        guard !made.isEmpty else { return [:] }
        let images = made.sorted { $0.key < $1.key }.map { _, image in
            ["part": image.part.name, "file": image.part.path] + ImageText.members(image.report)
        }
        return ["images": images]
    }
}

/// The result of recompressing an image, as text and as JSON: the same for `shrink` and for forms.
enum ImageText {
    /// The change in bytes, then the size and the quality of the result: `2.2 MiB → 99.7 KiB, 1272 × 954, quality 59`.
    static func change(_ report: JPEGReport) -> String {
        let quality = report.quality.map { "quality \($0)" } ?? "no loss"
        return "\(Figures.size(report.originalBytes)) → \(Figures.size(report.bytes)), \(pixels(report)), \(quality)"
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
    static func members(_ report: JPEGReport) -> JSONObject {
        [
            "originalBytes": report.originalBytes, "bytes": report.bytes, "originalWidth": report.originalWidth,
            "originalHeight": report.originalHeight, "width": report.width, "height": report.height,
            "quality": report.quality, "passedThrough": report.isPassedThrough,
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
}
