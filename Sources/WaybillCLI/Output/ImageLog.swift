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
    func members(of form: String? = nil) -> [JSONMember] {
        let made = reports.withLock { $0[form] ?? [:] }
        guard !made.isEmpty else { return [] }
        let images = made.sorted { $0.key < $1.key }.map { _, image in
            JSONValue.object(
                [JSONMember("part", .string(image.part.name)), JSONMember("file", .string(image.part.path))]
                    + ImageText.members(image.report))
        }
        return [JSONMember("images", .array(images))]
    }
}
