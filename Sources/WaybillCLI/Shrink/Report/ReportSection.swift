import Foundation
import Waybill

/// The section of the report about one image.
struct ReportSection {
    private let entry: ReportImage
    private let number: Int
    private let options: JPEGOptions
    private let budget: ReportBudget

    init(_ entry: ReportImage, number: Int, _ options: JPEGOptions, _ budget: ReportBudget) {
        (self.entry, self.number, self.options, self.budget) = (entry, number, options, budget)
    }

    /// Returns the HTML. An image that can no longer be read is replaced by the error.
    func html() async -> String {
        let body: String
        switch entry.outcome {
        case .failure(let failure): body = "<p class=\"bad\">\(ReportText.escaped(failure.message))</p>"
        case .success(let report):
            do throws(JPEGError) {
                body = try await shown(report.image)
            } catch {
                let reason = ReportText.escaped("\(error)")
                body = "\(Self.figures(report.image))<p class=\"bad\">The image can’t be shown: \(reason)</p>"
            }
        }
        return """
            <section class="picture" id="picture-\(number)" aria-labelledby="name-\(number)">
            <h2 id="name-\(number)">\(entry.title)</h2>
            \(body)
            </section>

            """
    }

    private func shown(_ report: JPEGReport) async throws(JPEGError) -> String {
        let images = try await images(report)
        let points = try await Self.curve(of: entry.before, report, options)
        return """
            \(images)
            <div class="facts">
            \(Self.figures(report))
            \(ReportCurve(points: points, result: report, number: number).html)
            </div>
            """
    }

    /// Returns the original and the result, overlaid with a slider, as far as the size of the page permits.
    private func images(_ report: JPEGReport) async throws(JPEGError) -> String {
        switch budget.images(resultBytes: report.bytes) {
        case .result(let originalBytes):
            let limit = ByteCount.bytes(Int64(originalBytes))
            let fine = JPEGOptions(
                maxBytes: limit, quality: 92, maxSide: ReportPage.side, mode: .fast, onFailure: options.onFailure,
                heicDecoder: options.heicDecoder)
            let before = try await JPEGRecompressor(fine).recompress(entry.before)
            let tools = """
                <button type="button" class="enlarge" aria-pressed="false">Full size</button> \
                <span class="hint">Drag across the image, or use the arrow keys.</span>
                """
            return stage(before, try Self.bytes(of: entry.after), tools)
        case .reduced(let bytes):
            let small = JPEGOptions(
                maxBytes: .bytes(Int64(bytes)), quality: 85, maxSide: 640, mode: .draft,
                onFailure: options.onFailure, heicDecoder: options.heicDecoder)
            let before = try await JPEGRecompressor(small).recompress(entry.before)
            let after = try await JPEGRecompressor(small).recompress(entry.after)
            let hint = "Both are reduced to 640 pixels to keep this page small."
            return stage(before, after.bytes, "<span class=\"hint\">\(hint)\(fileLinks)</span>")
        case .none:
            return "<p class=\"hint\">Not shown, to keep this page small.\(fileLinks)</p>"
        }
    }

    private func stage(_ before: JPEGResult, _ after: [UInt8], _ tools: String) -> String {
        let size = "width=\"\(before.report.width)\" height=\"\(before.report.height)\""
        return """
            <div class="view">
            <div class="stage">
            <img class="before" alt="Before" \(size) src="\(Self.data(before.bytes))">
            <img class="after" alt="After" \(size) src="\(Self.data(after))">
            <span class="tag left" aria-hidden="true">Before</span><span class="tag right" aria-hidden="true">After</span>
            <span class="line" aria-hidden="true"></span>
            <input type="range" class="split" min="0" max="100" value="50" aria-label="How much of the original is shown" \
            aria-describedby="name-\(number)">
            </div>
            </div>
            <p class="tools">\(tools)</p>
            """
    }

    /// Links to the files. Their paths are percent-encoded, so they can't contain markup.
    private var fileLinks: String {
        let links = [("original", entry.originalLink), ("result", entry.resultLink)].compactMap { name, link in
            link.map { "<a href=\"\($0)\">\(name)</a>" }
        }
        return links.isEmpty ? "" : " Files: \(links.joined(separator: ", "))."
    }

    private static func bytes(of after: JPEGInput) throws(JPEGError) -> [UInt8] {
        guard case .file(let path) = after else {
            if case .bytes(let bytes) = after { return bytes }
            return []
        }
        do throws(CommandFailure) {
            return try InputFile.read(path, limit: 40_000_000, for: "The result")
        } catch {
            throw JPEGError(.fileNotReadable, error.message)
        }
    }

    /// Returns the likeness at a quarter, half, one, two and four times the limit or the size of the result.
    private static func curve(
        of input: JPEGInput, _ report: JPEGReport, _ options: JPEGOptions
    ) async throws(JPEGError) -> [JPEGCurvePoint] {
        var options = options
        options.quality = nil
        let limit = options.maxBytes.map { Int($0.bytes) } ?? report.bytes
        let limits = [limit / 4, limit / 2, limit, limit * 2, limit * 4].filter { $0 > 0 && $0 < report.originalBytes }
        guard !limits.isEmpty else { return [] }
        return try await JPEGRecompressor(options).curve(of: input, limits: limits.map { .bytes(Int64($0)) })
    }

    private static func figures(_ report: JPEGReport) -> String {
        // Figures stay on one line; text may wrap.
        let figures = [
            ("Before", "\(report.originalWidth) × \(report.originalHeight), \(ReportText.size(report.originalBytes))"),
            ("After", "\(report.width) × \(report.height), \(ReportText.size(report.bytes))"),
            ("Share", ReportText.share(report.bytes, of: report.originalBytes)),
            ("Scale", ReportText.fixed(report.scale * 100, 0) + " %"),
            ("CPU time", ReportText.fixed(report.cpuTime / .seconds(1), 2) + " s"),
        ]
        var rows: [(String, String)] = []
        if report.isPassedThrough {
            rows.append(("Quality", "unchanged: only metadata was removed"))
        } else if let quality = report.quality {
            rows.append(("Quality", "\(quality) of 100"))
        }
        if let damage = ImageText.damage(report) { rows.append(("Damage", damage)) }
        if report.orientation != 1 { rows.append(("Rotated", "upright, from Exif orientation \(report.orientation)")) }
        if let profile = report.convertedProfile { rows.append(("Colors", "sRGB, from \(profile)")) }
        if let profile = report.droppedProfile { rows.append(("Colors", "profile \(profile) dropped")) }
        if !report.stripped.isEmpty { rows.append(("Removed", report.stripped.joined(separator: ", "))) }
        let items =
            figures.map { "<div><dt>\($0.0)</dt><dd class=\"figure\">\($0.1)</dd></div>" }
            + rows.map { "<div><dt>\($0.0)</dt><dd>\(ReportText.escaped($0.1))</dd></div>" }
        return "<dl class=\"figures\">\(items.joined())</dl>"
    }

    /// Returns a JPEG as a data URL.
    static func data(_ bytes: [UInt8]) -> String {
        "data:image/jpeg;base64,\(Data(bytes).base64EncodedString())"
    }
}
