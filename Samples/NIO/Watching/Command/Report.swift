import InMemoryTracing
import MetricsTestKit
import Tracing

/// A readable report of metrics and spans.
struct Report: CustomStringConvertible {
    let description: String

    init(_ metrics: TestMetrics, _ spans: [FinishedInMemorySpan]) {
        let counters = metrics.counters.map { Self.line($0.label, $0.dimensions, "\($0.totalValue)") }
        let timers = metrics.timers.filter { !$0.values.isEmpty }
            .map { Self.line($0.label, $0.dimensions, $0.values.map(Self.milliseconds).joined(separator: ", ")) }
        let recorders = metrics.recorders.filter { !$0.values.isEmpty }
            .map { Self.line($0.label, $0.dimensions, $0.values.map { "\(Int($0)) B" }.joined(separator: ", ")) }
        let roots = spans.filter { $0.parentSpanID == nil }
        description =
            (["metrics"] + (counters + timers + recorders).sorted() + ["spans"]
            + roots.flatMap { Self.tree($0, spans, "  ") }).joined(separator: "\n")
    }

    private static func line(_ label: String, _ dimensions: [(String, String)], _ value: String) -> String {
        let words = dimensions.map { "\($0.0)=\($0.1)" }.joined(separator: " ")
        return "  \(label)\(words.isEmpty ? "" : " {\(words)}")  \(value)"
    }

    private static func tree(_ span: FinishedInMemorySpan, _ all: [FinishedInMemorySpan], _ indent: String) -> [String]
    {
        let length = span.endInstant.nanosecondsSinceEpoch - span.startInstant.nanosecondsSinceEpoch
        var attributes: [String] = []
        span.attributes.forEach { name, value in attributes.append("\(name)=\(text(value))") }
        let status = span.status.map { $0.code == .ok ? "ok" : "error: \($0.message ?? "")" } ?? ""
        let words = [span.operationName, milliseconds(Int64(length)), status] + attributes.sorted()
        let header = span.kind == .client ? ["\(indent)  \(TraceContextTracer.header(of: span.spanContext))"] : []
        return [indent + words.filter { !$0.isEmpty }.joined(separator: "  ")] + header
            + all.filter { $0.parentSpanID == span.spanID }.flatMap { tree($0, all, indent + "  ") }
    }

    private static func text(_ value: SpanAttribute) -> String {
        switch value {
        case .string(let text): text
        case .int64(let number): "\(number)"
        default: "\(value)"
        }
    }

    private static func milliseconds(_ nanoseconds: Int64) -> String {
        "\(Double(nanoseconds / 1_000) / 1_000) ms"
    }
}
