import WaybillCore
import Waybill

/// Collects the results of recompressing the images of forms, and prints a line for each as soon as it is ready.
final class ImageLog: Sendable {
    /// An image part of a form.
    struct Part: Sendable, Hashable {
        /// The file of `--each` whose form contains the part.
        var form: String?
        /// The index of the part in the form.
        var index: Int
        var name: String
        var path: String
    }

    private let console: Console
    private let printsLines: Bool
    private let printsWarnings: Bool
    private let uncompressed = Locked<Set<String>>([])
    private let reports = Locked<[String?: [Int: (part: Part, report: JPEGReport)]]>([:])

    /// Creates a log. It prints no lines if `isJSON` is set, and nothing at all if `isSilent` is set (`-q`).
    init(_ console: Console = .standard, isSilent: Bool = false, isJSON: Bool = false) {
        self.console = console
        printsLines = !isSilent && !isJSON
        printsWarnings = !isSilent
    }

    convenience init(_ output: OutputOptions) { self.init(isSilent: output.silent, isJSON: output.json) }

    /// Adds a recompressed image.
    func add(_ part: Part, _ report: JPEGReport, _ options: JPEGOptions) {
        reports.withLock { $0[part.form, default: [:]][part.index] = (part, report) }
        if printsLines { console.line("\(part.path): \(ImageText.change(report))") }
        if printsWarnings, let warning = ImageText.warning(part.path, report, options) { console.line(warning) }
    }

    /// Warns that an image of another format than JPEG is sent as it is, although images are compressed. Prints one
    /// warning for each file.
    func addUncompressed(_ path: String, _ format: String, _ remedy: String) {
        guard printsWarnings, uncompressed.withLock({ $0.insert(path).inserted }) else { return }
        console.line("warning: \(path) is not compressed, because it is a \(format) image. \(remedy)")
    }

    /// Returns the member `images` of a form, in the order of its parts, or an empty object if there are none.
    func members(of form: String? = nil) -> JSONObject {
        let made = reports.withLock { $0[form] ?? [:] }
        guard !made.isEmpty else { return [:] }
        let images = made.sorted { $0.key < $1.key }.map { _, image in
            ["part": image.part.name, "file": image.part.path] + ImageText.members(image.report)
        }
        return ["images": images]
    }
}

/// Formats the result of recompressing an image as text and as JSON, for `shrink` and for forms.
enum ImageText {
    /// Returns the change in bytes, the dimensions and the quality: `2.2 MiB → 99.7 KiB, 1272 × 954, quality 59`.
    static func change(_ report: JPEGReport) -> String {
        let quality = report.quality.map { "quality \($0)" } ?? "no loss"
        return "\(Figures.size(report.originalBytes)) → \(Figures.size(report.bytes)), \(pixels(report)), \(quality)"
    }

    /// Returns the damage of an image that was salvaged, or `nil`.
    static func damage(_ report: JPEGReport) -> String? {
        switch report.damagedFraction {
        case 0: nil
        case 1: "the image data is damaged, so check the result"
        default: "\(damagedPercent(report)) % of the image is missing"
        }
    }

    /// Returns the percentage that may be damaged; 0 and 100 only if nothing or everything may be.
    static func damagedPercent(_ report: JPEGReport) -> Int {
        guard report.damagedFraction > 0, report.damagedFraction < 1 else { return Int(report.damagedFraction * 100) }
        return min(max(Int((report.damagedFraction * 100).rounded()), 1), 99)
    }

    /// Returns a warning if the image was scaled down so far to meet a limit in bytes that its text may be unreadable.
    /// Returns `nil` if the caller chose that size or a minimum size.
    static func warning(_ name: String, _ report: JPEGReport, _ options: JPEGOptions) -> String? {
        guard let limit = options.maxBytes, options.minSide == nil, max(report.width, report.height) < readableSide,
            longestSide(report, options) >= Double(readableSide)
        else { return nil }
        return "warning: \(name): scaled down to \(pixels(report)) to fit \(limit); text may be unreadable. "
            + "Raise --max-bytes or set --min-side."
    }

    /// Returns the JSON members common to `shrink` and forms.
    static func members(_ report: JPEGReport) -> JSONObject {
        [
            "originalBytes": report.originalBytes, "bytes": report.bytes, "originalWidth": report.originalWidth,
            "originalHeight": report.originalHeight, "width": report.width, "height": report.height,
            "quality": report.quality, "passedThrough": report.isPassedThrough,
        ]
    }

    /// If the longer side has fewer pixels, small print of a document is lost.
    private static let readableSide = 600

    /// Returns the longer side that the image would have without a limit in bytes.
    private static func longestSide(_ report: JPEGReport, _ options: JPEGOptions) -> Double {
        let side = Double(max(report.originalWidth, report.originalHeight))
        let pixels = Double(report.originalWidth) * Double(report.originalHeight)
        let scale = options.maxPixels.map { (Double($0) / pixels).squareRoot() } ?? 1
        return min(side, side * scale, options.maxSide.map(Double.init) ?? .infinity)
    }

    private static func pixels(_ report: JPEGReport) -> String { "\(report.width) × \(report.height)" }
}
