import Waybill

/// Formats the result of an image as a line and as JSON.
struct ShrinkReport: Sendable {
    var input: String
    var output: String
    var picture: JPEGReport

    /// The line of an image: `card.jpg → card-waybill.jpg: 3.4 MiB → 99.9 KiB, 1632 × 1224, quality 71; was 4000 ×
    /// 3000; removed Exif, XMP`.
    var line: String {
        var line = "\(name) → \(Self.shown(output, "standard output")): \(ImageText.change(picture))"
        if picture.width != picture.originalWidth || picture.height != picture.originalHeight {
            line += "; originally \(picture.originalWidth) × \(picture.originalHeight)"
        }
        if picture.orientation != 1 { line += ", rotated upright" }
        if let profile = picture.convertedProfile { line += ", colors converted from \(profile)" }
        if let profile = picture.droppedProfile { line += ", profile \(profile) dropped without conversion" }
        if !picture.stripped.isEmpty { line += "; removed \(picture.stripped.joined(separator: ", "))" }
        return line
    }

    /// Returns a warning if text in the result may be unreadable.
    func warning(_ options: JPEGOptions) -> String? { ImageText.warning(name, picture, options) }

    var members: JSONObject {
        let head: JSONObject = ["result": "succeeded", "exit": Exit.done, "input": input, "output": output]
        return head + ImageText.members(picture) + [
            "orientation": picture.orientation, "convertedProfile": picture.convertedProfile,
            "droppedProfile": picture.droppedProfile, "removed": picture.stripped, "cpuSeconds": picture.cpuTime,
        ]
    }

    private var name: String { Self.shown(input, "standard input") }

    private static func shown(_ path: String, _ stream: String) -> String { path == "-" ? stream : path }
}

/// The summary of all images of a call.
struct ShrinkSummary: Sendable {
    let made: [ShrinkReport]
    let failures: [CommandFailure]
    private let signal: Int32?

    init(outcomes: [ShrinkRun.Outcome], signal: Int32?) {
        made = outcomes.compactMap { outcome in if case .success(let report) = outcome { report } else { nil } }
        failures = outcomes.compactMap { outcome in if case .failure(let failure) = outcome { failure } else { nil } }
        self.signal = signal
    }

    /// The failure of the call: that of a signal, if one arrived, otherwise that of the first failed image.
    var failure: CommandFailure? {
        guard let first = failures.first(where: \.isInterruption) ?? failures.first else { return nil }
        let count = failures.count + made.count
        guard count > 1 else { return first }
        let reason = first.isInterruption ? "were not processed: stopped by a signal" : "failed"
        return CommandFailure(
            code: first.code, exit: first.exit, message: "\(failures.count) of \(count) images \(reason).")
    }

    /// The summary line: `12 images: 41.2 MiB → 1.2 MiB (2.9 %); 1 not made`.
    var line: String {
        let sizes = "\(Figures.size(before)) → \(Figures.size(after)) (\(ReportText.share(after, of: before)))"
        var line = "\(Figures.count(made.count, "image")): \(sizes)"
        if !failures.isEmpty { line += "; \(failures.count) failed" }
        return line
    }

    var members: JSONObject {
        [
            "result": failures.isEmpty ? "succeeded" : "failed", "exit": failure?.exit ?? .done,
            "pictures": made.count + failures.count, "failed": failures.count, "originalBytes": before, "bytes": after,
            "signal": signal,
        ]
    }

    var before: Int { made.reduce(0) { $0 + $1.picture.originalBytes } }
    var after: Int { made.reduce(0) { $0 + $1.picture.bytes } }
}

extension CommandFailure {
    /// Whether a signal caused the failure.
    var isInterruption: Bool { exit == .interrupted || exit == .terminated }
}
