import Waybill

/// An image in the report.
struct ReportImage: Sendable {
    /// The name given by the caller, which is untrusted.
    var name: String
    var before: JPEGInput
    var after: JPEGInput
    var outcome: ShrinkRun.Outcome
    /// A small JPEG of the result for the table.
    var thumbnail: [UInt8]?
    /// The links to the files, relative to the page.
    var originalLink: String?
    var resultLink: String?

    /// The name as HTML.
    var title: String { "<bdi>\(ReportText.escaped(name == "-" ? "standard input" : name))</bdi>" }
}

/// The report: a page that compares originals and results. It is a single file that loads nothing and runs only its own
/// script: its content security policy (CSP 3, section 6.1) identifies style and script by their hashes.
struct ReportPage: Sendable {
    let options: JPEGOptions
    let entries: [ReportImage]

    /// Everything before the first image.
    var head: String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="\(Self.policy)">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="referrer" content="no-referrer">
        <meta name="color-scheme" content="light dark">
        <title>\(heading)</title>
        <style>\(ReportStyle.text)</style>
        </head>
        <body>
        <header>
        <h1>\(heading)</h1>
        <p>\(goal)</p>
        </header>
        <main>
        \(overview)

        """
    }

    /// Everything after the last image.
    var foot: String {
        """
        </main>
        <footer>
        <p>Created by waybill \(WaybillCommand.version). “Before” is the original reduced to at most \(Self.side) pixels a side, \
        to keep this page small; “after” is the resulting file itself, unless its section says otherwise. Neither has \
        metadata.</p>
        <p>Deviation is the gradient magnitude similarity deviation between a result and its original at 512, 1024 and 2048 \
        pixels: 0 is identical, 0.1 is clearly worse. Only values of the same image are comparable.</p>
        </footer>
        <script>\(ReportScript.text)</script>
        </body>
        </html>

        """
    }

    /// The maximum side of an original in the page, in pixels.
    static let side = 2_048

    private static let policy = [
        "default-src 'none'", "img-src data:", "style-src '\(ReportStyle.hash)'", "script-src '\(ReportScript.hash)'",
        "base-uri 'none'", "form-action 'none'",
    ].joined(separator: "; ")

    private var summary: ShrinkSummary { ShrinkSummary(outcomes: entries.map(\.outcome), signal: nil) }

    private var heading: String {
        let (summary, count) = (summary, entries.count)
        let successes = summary.successes
        let (before, after) = (ReportText.size(summary.before), ReportText.size(summary.after))
        let sizes = successes.isEmpty ? "" : ": \(before) → \(after)"
        let failed = successes.count < count ? ", \(count - successes.count) failed" : ""
        return "\(Figures.count(successes.count, "image"))\(sizes)\(failed)"
    }

    private var goal: String {
        var parts: [String] = []
        if let limit = options.maxBytes { parts.append("at most \(limit)") }
        if let quality = options.quality { parts.append("quality \(quality)") }
        if let pixels = options.maxPixels { parts.append("at most \(pixels) pixels") }
        if let side = options.maxSide { parts.append("at most \(side) pixels along a side") }
        if let side = options.minSide { parts.append("at least \(side) pixels along the longer side") }
        parts.append("mode \(options.mode)")
        if options.isDocument { parts.append("document") }
        return "Settings: \(parts.joined(separator: ", "))."
    }

    /// A table of all images, if there is more than one.
    private var overview: String {
        guard entries.count > 1 else { return "" }
        let rows = entries.enumerated().map { index, entry in
            let image =
                entry.thumbnail.map { "<img class=\"thumb\" alt=\"\" src=\"\(ReportSection.data($0))\">" } ?? ""
            let link = "<th scope=\"row\"><a href=\"#picture-\(index + 1)\">\(image)\(entry.title)</a></th>"
            switch entry.outcome {
            case .failure: return "<tr>\(link)<td colspan=\"4\" class=\"bad\">failed</td></tr>"
            case .success(let report):
                let figures = report.image
                return """
                    <tr>\(link)<td>\(ReportText.size(figures.originalBytes))</td><td>\(ReportText.size(figures.bytes))</td>\
                    <td>\(ReportText.share(figures.bytes, of: figures.originalBytes))</td>\
                    <td>\(figures.width) × \(figures.height)</td></tr>
                    """
            }
        }
        return """
            <div class="scroll">
            <table class="overview">
            <thead><tr><th scope="col">Image</th><th scope="col">Before</th><th scope="col">After</th>\
            <th scope="col">Share</th><th scope="col">Pixels</th></tr></thead>
            <tbody>
            \(rows.joined(separator: "\n"))
            </tbody>
            </table>
            </div>
            """
    }
}
