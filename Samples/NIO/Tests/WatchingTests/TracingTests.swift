import InMemoryTracing
import ReceiverKit
import Testing
import Tracing
import WatchingKit
import Waybill

@testable import Watching

@Suite(.timeLimit(.minutes(1))) struct TracingTests {
    private let tracer = TraceContextTracer()

    private func request(_ url: String, retries: Int = 0) -> UploadRequest {
        var options = UploadOptions()
        options.retry = RetryPolicy(maxRetries: retries, baseDelay: .milliseconds(1))
        let form: MultipartForm = [.text("TOKEN", .secret("right")), .data("FILE", [1, 2, 3], fileName: "a.bin")]
        return UploadRequest(.post, url, content: .form(form), options: options)
    }

    private func text(_ span: FinishedInMemorySpan, _ name: String) -> String? {
        if case .string(let text)? = span.attributes.get(name) { text } else { nil }
    }

    private func number(_ span: FinishedInMemorySpan, _ name: String) -> Int64? {
        switch span.attributes.get(name) {
        case .int64(let number): number
        case .int32(let number): Int64(number)
        default: nil
        }
    }

    @Test func `each attempt has a child span of the upload and its own traceparent`() async throws {
        let server = try await ScriptedServer([503, 200])
        let session = UploadSession()
        let response = try await tracer.withSpan("business") { _ in
            try await session.send(request(server.url, retries: 3), tracedBy: tracer)
        }
        #expect(response.attempts.count == 2)
        let traceparents = await server.script.traceparents
        await server.stop()

        #expect(tracer.memory.activeSpans.isEmpty)
        let spans = tracer.memory.finishedSpans
        let business = try #require(spans.first { $0.operationName == "business" })
        let upload = try #require(spans.first { $0.operationName == "upload" })
        let attempts = spans.filter { $0.operationName == "POST" }
        try #require(spans.count == 4 && attempts.count == 2)
        #expect(upload.parentSpanID == business.spanID)
        #expect(attempts.allSatisfy { $0.parentSpanID == upload.spanID && $0.kind == .client })
        #expect(Set(spans.map(\.traceID)).count == 1)
        #expect(traceparents == attempts.map { "00-\($0.traceID)-\($0.spanID)-01" })
        #expect(traceparents.allSatisfy { $0.utf8.count == 55 })

        #expect(attempts.map { number($0, "http.response.status_code") } == [503, 200])
        #expect(attempts.map { number($0, "http.request.resend_count") } == [nil, 1])
        #expect(attempts[0].status == SpanStatus(code: .error, message: "503"))
        #expect(text(attempts[0], "error.type") == "503")
        #expect(attempts[1].status == nil && text(attempts[1], "error.type") == nil)
        #expect(upload.status?.code == .ok && upload.errors.isEmpty)
        #expect(number(upload, "waybill.attempts") == 2)
        for attempt in attempts {
            #expect(attempt.startInstant.nanosecondsSinceEpoch >= upload.startInstant.nanosecondsSinceEpoch)
            #expect(attempt.endInstant.nanosecondsSinceEpoch <= upload.endInstant.nanosecondsSinceEpoch)
        }
    }

    @Test func `a failed upload has its code and outcome in the span but no URL`() async throws {
        let server = try await ScriptedServer([404])
        let session = UploadSession()
        await #expect(throws: UploadError.self) { try await session.send(request(server.url), tracedBy: tracer) }
        await server.stop()
        await #expect(throws: UploadError.self) { try await session.send(request(server.url), tracedBy: tracer) }
        #expect(tracer.memory.activeSpans.isEmpty)
        let spans = tracer.memory.finishedSpans
        let uploads = spans.filter { $0.operationName == "upload" }
        #expect(uploads.map { $0.status?.message } == ["rejected, rejected", "cannotConnect, notSent"])
        #expect(uploads.map { text($0, "waybill.outcome") } == ["rejected", "notSent"])
        #expect(
            uploads.map { $0.errors.map { "\($0.error)" } } == [["rejected, rejected"], ["cannotConnect, notSent"]])
        #expect(spans.filter { $0.operationName == "POST" }.map { text($0, "error.type") } == ["404", "cannotConnect"])
        for span in spans {
            span.attributes.forEach { name, value in #expect(!"\(value)".contains("4711"), "\(name)") }
        }
    }

    @Test func `a cancelled upload leaves no span open`() async throws {
        let server = try await ScriptedServer([200])
        let session = UploadSession()
        for _ in 0..<20 {
            let task = Task { try await session.send(request(server.url), tracedBy: tracer) }
            task.cancel()
            _ = await task.result
        }
        // Closing the session waits for abandoned interceptors.
        await session.close()
        await server.stop()
        #expect(tracer.memory.activeSpans.isEmpty)
        let uploads = tracer.memory.finishedSpans.filter { $0.operationName == "upload" }
        #expect(uploads.count == 20)
    }

    @Test func `the report lists the upload, its attempt and the header field`() async throws {
        let receiver = try await Receiver.start(.init(token: "right"))
        let response = try await UploadSession().send(request(receiver.url), tracedBy: tracer)
        await receiver.stop()
        #expect(response.text.contains("000000"))
        let lines = Report(.init(), tracer.memory.finishedSpans).description.split(separator: "\n")
        try #require(lines.count == 5)
        #expect(lines[0] == "metrics" && lines[1] == "spans")
        #expect(lines[2].hasPrefix("  upload  ") && lines[2].hasSuffix(" ms  ok  waybill.attempts=1"))
        #expect(lines[3].hasPrefix("    POST  ") && lines[3].contains("http.response.status_code=200"))
        #expect(lines[4].hasPrefix("      00-"))
    }
}
