import Waybill

/// Formats the result of an image as a line and as JSON.
struct ShrinkReport: Sendable {
    var input: String
    var output: String
    var image: JPEGReport

    /// The line of an image: `card.jpg → card-waybill.jpg: 3.4 MiB → 99.9 KiB, 1632 × 1224, quality 71; was 4000 ×
    /// 3000; removed Exif, XMP`.
    var line: String {
        var line = "\(name) → \(Self.shown(output, "standard output")): \(ImageText.change(image))"
        if image.width != image.originalWidth || image.height != image.originalHeight {
            line += "; originally \(image.originalWidth) × \(image.originalHeight)"
        }
        if image.orientation != 1 { line += ", rotated upright" }
        if let profile = image.convertedProfile { line += ", colors converted from \(profile)" }
        if let profile = image.droppedProfile { line += ", profile \(profile) dropped without conversion" }
        if let damage = ImageText.damage(image) { line += "; \(damage)" }
        if image.isEndMissing { line += ", added the missing end marker" }
        if !image.stripped.isEmpty { line += "; removed \(image.stripped.joined(separator: ", "))" }
        return line
    }

    /// Returns a warning if text in the result may be unreadable.
    func warning(_ options: JPEGOptions) -> String? { ImageText.warning(name, image, options) }

    var members: JSONObject {
        let head: JSONObject = ["result": "succeeded", "exit": Exit.done, "input": input, "output": output]
        return head + ImageText.members(image) + [
            "orientation": image.orientation, "convertedProfile": image.convertedProfile,
            "droppedProfile": image.droppedProfile, "removed": image.stripped, "endMissing": image.isEndMissing,
            "damagedPercent": ImageText.damagedPercent(image),
            "cpuSeconds": image.cpuTime,
        ]
    }

    private var name: String { Self.shown(input, "standard input") }

    private static func shown(_ path: String, _ stream: String) -> String { path == "-" ? stream : path }
}

/// The summary of all images of a call.
struct ShrinkSummary: Sendable {
    let successes: [ShrinkReport]
    let failures: [CommandFailure]
    private let signal: Int32?

    init(outcomes: [ShrinkRun.Outcome], signal: Int32?) {
        successes = outcomes.compactMap { outcome in if case .success(let report) = outcome { report } else { nil } }
        failures = outcomes.compactMap { outcome in if case .failure(let failure) = outcome { failure } else { nil } }
        self.signal = signal
    }

    /// The failure of the call: that of a signal, if one arrived, otherwise that of the first failed image.
    var failure: CommandFailure? {
        guard let first = failures.first(where: \.isInterruption) ?? failures.first else { return nil }
        let count = failures.count + successes.count
        guard count > 1 else { return first }
        let reason = first.isInterruption ? "were not processed: stopped by a signal" : "failed"
        return CommandFailure(
            code: first.code, exit: first.exit, message: "\(failures.count) of \(count) images \(reason).")
    }

    /// The summary line: `12 images: 41.2 MiB → 1.2 MiB (2.9 %); 1 failed`.
    var line: String {
        let sizes = "\(Figures.size(before)) → \(Figures.size(after)) (\(ReportText.share(after, of: before)))"
        var line = "\(Figures.count(successes.count, "image")): \(sizes)"
        if !failures.isEmpty { line += "; \(failures.count) failed" }
        return line
    }

    var members: JSONObject {
        [
            "result": failures.isEmpty ? "succeeded" : "failed", "exit": failure?.exit ?? .done,
            "pictures": successes.count + failures.count, "failed": failures.count, "originalBytes": before,
            "bytes": after,
            "signal": signal,
        ]
    }

    var before: Int { successes.reduce(0) { $0 + $1.image.originalBytes } }
    var after: Int { successes.reduce(0) { $0 + $1.image.bytes } }
}

extension CommandFailure {
    /// Whether a signal caused the failure.
    var isInterruption: Bool { exit == .interrupted || exit == .terminated }
}
