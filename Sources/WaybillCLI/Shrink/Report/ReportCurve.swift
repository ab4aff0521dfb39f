import Glibc
import Waybill

/// A curve of likeness to the original over size, as SVG and as a table.
struct ReportCurve {
    let points: [JPEGCurvePoint]
    let result: JPEGReport
    let number: Int

    private static let width = 560.0
    private static let height = 250.0
    private static let left = 58.0
    private static let right = 24.0
    private static let top = 18.0
    private static let bottom = 46.0

    /// The HTML: the curve, or a sentence if there is nothing to draw.
    var html: String {
        guard points.count > 1 else {
            return "<p class=\"hint\">No curve: the original is too small to be compressed to several sizes.</p>"
        }
        return """
            <figure class="curve">
            \(svg)
            <figcaption>Similarity by size; higher is closer to the original
            <details><summary>Figures</summary>\(table)</details></figcaption>
            </figure>
            """
    }

    private var svg: String {
        let path = points.map { "\(text(x($0.report.bytes))),\(text(y($0.deviation)))" }.joined(separator: " ")
        return """
            <svg viewBox="0 0 \(Int(Self.width)) \(Int(Self.height))" role="img" aria-labelledby="curve-\(number)">
            <title id="curve-\(number)">Similarity to the original at \(points.count) limits</title>
            \(grid)
            \(mark)
            <polyline class="trace" points="\(path)"/>
            \(points.map(dot).joined(separator: "\n"))
            </svg>
            """
    }

    private var grid: String {
        let bottomLine = Self.height - Self.bottom
        var lines = (0...4).map { step in
            let deviation = scale * Double(step) / 4
            return """
                <line class="grid" x1="\(text(Self.left))" x2="\(text(Self.width - Self.right))" y1="\(text(y(deviation)))" \
                y2="\(text(y(deviation)))"/><text class="axis" text-anchor="end" x="\(text(Self.left - 8))" \
                y="\(text(y(deviation) + 4))">\(step == 0 ? "same" : ReportText.fixed(deviation, 3))</text>
                """
        }
        lines += points.map { point in
            """
            <line class="grid" x1="\(text(x(point.report.bytes)))" x2="\(text(x(point.report.bytes)))" \
            y1="\(text(Self.top))" y2="\(text(bottomLine))"/><text class="axis" text-anchor="middle" \
            x="\(text(x(point.report.bytes)))" y="\(text(bottomLine + 18))">\(ReportText.size(point.report.bytes))</text>
            """
        }
        return lines.joined(separator: "\n")
    }

    /// The line that marks the size of the shown result.
    private var mark: String {
        let position = x(result.bytes)
        return """
            <line class="mark" x1="\(text(position))" x2="\(text(position))" y1="\(text(Self.top))" \
            y2="\(text(Self.height - Self.bottom))"/><text class="marked" text-anchor="middle" x="\(text(position))" \
            y="\(text(Self.height - 8))">this result</text>
            """
    }

    private func dot(_ point: JPEGCurvePoint) -> String {
        let figures = "\(ReportText.size(point.report.bytes)), \(point.report.width) × \(point.report.height)"
        return """
            <circle class="dot" r="4.5" cx="\(text(x(point.report.bytes)))" cy="\(text(y(point.deviation)))">\
            <title>\(figures): \(ReportText.fixed(point.deviation, 4))</title></circle>
            """
    }

    private var table: String {
        let rows = points.map { point in
            """
            <tr><td>\(ReportText.size(point.report.bytes))</td><td>\(point.report.width) × \(point.report.height)</td>\
            <td>\(point.report.quality.map(String.init) ?? "unchanged")</td><td>\(ReportText.fixed(point.deviation, 4))</td></tr>
            """
        }
        return """
            <table><thead><tr><th scope="col">Size</th><th scope="col">Pixels</th><th scope="col">Quality</th>\
            <th scope="col">Deviation</th></tr></thead><tbody>\(rows.joined())</tbody></table>
            """
    }

    /// The deviation at the bottom of the chart.
    private var scale: Double { max(0.001, points.map(\.deviation).max() ?? 0) * 1.12 }

    private func y(_ deviation: Double) -> Double {
        Self.top + (Self.height - Self.top - Self.bottom) * deviation / scale
    }

    /// Sizes double from point to point, so the axis is logarithmic.
    private func x(_ bytes: Int) -> Double {
        let sizes = points.map { log(Double(max(1, $0.report.bytes))) } + [log(Double(max(1, result.bytes)))]
        let (low, high) = (sizes.min() ?? 0, sizes.max() ?? 1)
        let share = high > low ? (log(Double(max(1, bytes))) - low) / (high - low) : 0.5
        return Self.left + 24 + (Self.width - Self.left - Self.right - 48) * share
    }

    private func text(_ value: Double) -> String { ReportText.fixed(value, 1) }
}
