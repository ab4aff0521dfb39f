import Foundation
import Waybill

/// The part of the page that shows one picture.
enum ReportSection {
    /// The HTML. Pictures that can't be read any more are told of in their place.
    static func html(_ picture: ReportPicture, number: Int, _ options: JPEGOptions) async -> String {
        let body: String
        switch picture.outcome {
        case .failure(let failure): body = "<p class=\"bad\">\(ReportText.escaped(failure.message))</p>"
        case .success(let report):
            do throws(JPEGError) {
                body = try await shown(picture, report.picture, number: number, options)
            } catch {
                let reason = ReportText.escaped("\(error)")
                body = "\(figures(report.picture))<p class=\"bad\">It can’t be shown: \(reason)</p>"
            }
        }
        return """
            <section class="picture" id="picture-\(number)" aria-labelledby="name-\(number)">
            <h2 id="name-\(number)">\(picture.title)</h2>
            \(body)
            </section>

            """
    }

    private static func shown(
        _ picture: ReportPicture, _ report: JPEGReport, number: Int, _ options: JPEGOptions
    ) async throws(JPEGError) -> String {
        let preview = JPEGRecompressor(JPEGOptions(quality: 92, maxSide: ReportPage.side, mode: .fast))
        let before = try await preview.recompress(picture.before)
        let after = try await bytes(of: picture.after)
        let points = try await curve(of: picture.before, report, options)
        return """
            <div class="view">
            <div class="stage">
            <img class="before" alt="Before" width="\(before.report.width)" height="\(before.report.height)" \
            src="\(data(before.bytes))">
            <img class="after" alt="After" width="\(before.report.width)" height="\(before.report.height)" \
            src="\(data(after))">
            <span class="tag left" aria-hidden="true">Before</span><span class="tag right" aria-hidden="true">After</span>
            <span class="line" aria-hidden="true"></span>
            <input type="range" class="split" min="0" max="100" value="50" aria-label="How much of the original is shown" \
            aria-describedby="name-\(number)">
            </div>
            </div>
            <p class="tools"><button type="button" class="enlarge" aria-pressed="false">Every pixel</button> \
            <span class="hint">Drag across the picture, or use the arrow keys.</span></p>
            <div class="facts">
            \(figures(report))
            \(ReportCurve(points: points, result: report, number: number).html)
            </div>
            """
    }

    private static func bytes(of after: JPEGInput) async throws(JPEGError) -> [UInt8] {
        guard case .file(let path) = after else {
            if case .bytes(let bytes) = after { return bytes }
            return []
        }
        do throws(CommandFailure) {
            return try InputFile.read(path, limit: 40_000_000, for: "the result")
        } catch {
            throw JPEGError(.fileNotReadable, error.message)
        }
    }

    /// Likeness under a quarter, a half, the whole, two and four times the bytes of the result.
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
        var rows = [
            ("Before", "\(report.originalWidth) × \(report.originalHeight), \(ReportText.size(report.originalBytes))"),
            ("After", "\(report.width) × \(report.height), \(ReportText.size(report.bytes))"),
            ("Share", ReportText.share(report.bytes, of: report.originalBytes)),
            ("Scale", ReportText.fixed(report.scale * 100, 0) + " %"),
        ]
        if report.isPassedThrough {
            rows.append(("Quality", "as it was: only metadata went"))
        } else if let quality = report.quality {
            rows.append(("Quality", "\(quality) of 100"))
        }
        if report.orientation != 1 { rows.append(("Turned", "upright, from Exif orientation \(report.orientation)")) }
        if let profile = report.convertedProfile { rows.append(("Colours", "sRGB, from \(profile)")) }
        if let profile = report.droppedProfile { rows.append(("Colours", "profile \(profile) dropped")) }
        if !report.stripped.isEmpty { rows.append(("Removed", report.stripped.joined(separator: ", "))) }
        rows.append(("CPU time", ReportText.fixed(SummaryText.value(report.cpuTime), 2) + " s"))
        let items = rows.map { "<div><dt>\($0.0)</dt><dd>\(ReportText.escaped($0.1))</dd></div>" }
        return "<dl class=\"figures\">\(items.joined())</dl>"
    }

    private static func data(_ bytes: [UInt8]) -> String {
        "data:image/jpeg;base64,\(Data(bytes).base64EncodedString())"
    }
}
