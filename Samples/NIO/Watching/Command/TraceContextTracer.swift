import InMemoryTracing
import Tracing

/// A tracer that keeps its spans in memory and propagates W3C Trace Context (`traceparent`, level 1, section 3.2). A
/// program uses the tracer of its OpenTelemetry library instead.
struct TraceContextTracer: Tracer {
    let memory = InMemoryTracer(
        idGenerator: .init(nextTraceID: { hex(.random(in: 1 ... .max)) + hex(.random(in: 0 ... .max)) }) {
            hex(.random(in: 1 ... .max))
        })

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> InMemorySpan {
        memory.startSpan(
            operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID, line: line
        )
    }

    func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let span = context.inMemorySpanContext else { return }
        injector.inject(Self.header(of: span), forKey: "traceparent", into: &carrier)
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        let fields = extractor.extract(key: "traceparent", from: carrier)?.split(separator: "-").map(String.init)
        guard let fields, fields.count == 4, fields[1].utf8.count == 32, fields[2].utf8.count == 16 else { return }
        context.inMemorySpanContext = InMemorySpanContext(traceID: fields[1], spanID: fields[2], parentSpanID: nil)
    }

    func forceFlush() {}

    /// Returns the value of `traceparent`: version 00, sampled.
    static func header(of span: InMemorySpanContext) -> String { "00-\(span.traceID)-\(span.spanID)-01" }
}

private func hex(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}
