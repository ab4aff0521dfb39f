import Metrics
import MetricsTestKit
import ReceiverKit
import Testing
import Waybill

@testable import WatchingKit

@Suite(.timeLimit(.minutes(1))) struct MetricsTests {
    /// Runs uploads and returns the metrics after the session has closed.
    private func metrics(
        _ configuration: UploadSession.Configuration = .init(), _ uploads: (UploadSession) async throws -> Void
    ) async throws -> TestMetrics {
        let metrics = TestMetrics()
        let session = UploadSession(configuration: configuration)
        let watching = UploadMetrics(factory: metrics).watch(session)
        try await uploads(session)
        await session.close()
        await watching.value
        return metrics
    }

    private func quick(retries: Int) -> UploadSession.Configuration {
        var configuration = UploadSession.Configuration()
        configuration.options.retry = RetryPolicy(maxRetries: retries, baseDelay: .milliseconds(1))
        return configuration
    }

    private func count(_ metrics: TestMetrics, _ label: String, _ dimensions: [(String, String)] = []) throws -> Int64 {
        try metrics.expectCounter(label, dimensions).totalValue
    }

    @Test func `successful uploads record counters, times and bytes`() async throws {
        let receiver = try await Receiver.start(.init(token: "right"))
        let size = 300_000
        let metrics = try await metrics { session in
            let form: MultipartForm = [
                .text("TOKEN", .secret("right")), .data("FILE", [UInt8](repeating: 1, count: size), fileName: "a.bin"),
            ]
            for _ in 0..<2 {
                let response = try await session.upload(form, to: receiver.url)
                #expect(response.text.contains("000000"))
            }
        }
        await receiver.stop()
        let success = [("result", "success"), ("code", "none"), ("outcome", "none")]
        #expect(try count(metrics, "waybill.uploads", success) == 2)
        #expect(try count(metrics, "waybill.attempts", [("status", "2xx"), ("code", "none")]) == 2)
        #expect(try count(metrics, "waybill.retries") == 0)
        #expect(try metrics.expectTimer("waybill.upload.time").values.count == 2)
        let total = try metrics.expectTimer("waybill.attempt.total").values
        let firstByte = try metrics.expectTimer("waybill.attempt.first_byte").values
        #expect(total.count == 2 && firstByte.count == 2)
        #expect(firstByte.allSatisfy { $0 > 0 } && total.allSatisfy { $0 > 0 })
        // The second upload reuses the connection; without TLS there are no TLS times.
        #expect(try metrics.expectTimer("waybill.attempt.connect").values.count == 1)
        #expect(try metrics.expectTimer("waybill.attempt.tls").values.isEmpty)
        let sent = try metrics.expectRecorder("waybill.attempt.bytes", [("direction", "sent")]).values
        #expect(sent.count == 2 && sent.allSatisfy { $0 > Double(size) && $0 < Double(size + 4_096) })
        let received = try metrics.expectRecorder("waybill.attempt.bytes", [("direction", "received")]).values
        #expect(received.count == 2 && received.allSatisfy { $0 > 0 })
    }

    @Test func `a retried failure records two attempts, one retry and a success`() async throws {
        let server = try await ScriptedServer([503, 200])
        let metrics = try await metrics(quick(retries: 3)) { session in
            let response = try await session.upload([.text("a", "1")], to: server.url)
            #expect(response.attempts.count == 2)
        }
        await server.stop()
        #expect(
            try count(metrics, "waybill.uploads", [("result", "success"), ("code", "none"), ("outcome", "none")]) == 1)
        #expect(try count(metrics, "waybill.attempts", [("status", "5xx"), ("code", "none")]) == 1)
        #expect(try count(metrics, "waybill.attempts", [("status", "2xx"), ("code", "none")]) == 1)
        #expect(try count(metrics, "waybill.retries") == 1)
        #expect(try metrics.expectTimer("waybill.retry.wait").values.count == 1)
    }

    @Test func `the first-byte timer measures the response, not the request`() async throws {
        let server = try await ScriptedServer([200], after: .milliseconds(50))
        let metrics = try await metrics { session in
            _ = try await session.upload([.data("FILE", [1, 2, 3], fileName: "a.bin")], to: server.url)
        }
        await server.stop()
        let times = try metrics.expectTimer("waybill.attempt.first_byte").values
        #expect(times.count == 1 && times[0] >= 50_000_000, "\(times)")
    }

    @Test func `dimensions of failures contain only codes and outcomes`() async throws {
        let server = try await ScriptedServer([404])
        let metrics = try await metrics(quick(retries: 0)) { session in
            let form: MultipartForm = [.text("TOKEN", .secret("s3cr3t")), .data("FILE", [1], fileName: "身份证.jpg")]
            await #expect(throws: UploadError.self) { try await session.upload(form, to: server.url + "?key=s3cr3t") }
            await #expect(throws: UploadError.self) { try await session.upload(form, to: server.url) }
            await server.stop()
            // The port is closed now.
            await #expect(throws: UploadError.self) { try await session.upload(form, to: server.url) }
            let cancelled = Task { try await session.upload(form, to: server.url) }
            cancelled.cancel()
            await #expect(throws: UploadError.self) { try await cancelled.value }
        }
        func uploads(_ result: String, _ code: String, _ outcome: String) -> Int64? {
            try? count(metrics, "waybill.uploads", [("result", result), ("code", code), ("outcome", outcome)])
        }
        #expect(uploads("failure", "rejected", "rejected") == 2, "\(metrics)")
        #expect(uploads("failure", "cannotConnect", "notSent") == 1, "\(metrics)")
        #expect(metrics.counters(label: "waybill.uploads").map(\.totalValue).reduce(0, +) == 4, "\(metrics)")
        let names: Set = ["result", "code", "outcome", "status", "direction"]
        let all =
            metrics.counters.flatMap(\.dimensions) + metrics.timers.flatMap(\.dimensions)
            + metrics.recorders.flatMap(\.dimensions)
        #expect(!all.isEmpty)
        for (name, value) in all {
            #expect(names.contains(name))
            #expect(value.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }, "\(name)=\(value)")
        }
    }

    @Test func `a code that is not a plain word is reported as other`() {
        #expect(Dimension.code(nil) == "none")
        #expect(Dimension.code(.cannotConnect) == "cannotConnect")
        #expect(Dimension.label("no way to https://u:p@host/") == "other")
        #expect(Dimension.label("") == "other")
        #expect([nil, .cancelled, .stalled].map(Dimension.result) == ["success", "cancelled", "failure"])
    }

    @Test func `phases have durations and exclude those that did not take place`() {
        var metrics = TransferMetrics()
        #expect(metrics.phases.isEmpty)
        (metrics.nameLookup, metrics.connect, metrics.tls) = (.milliseconds(2), .milliseconds(5), .milliseconds(9))
        metrics.total = .milliseconds(21)
        #expect(metrics.phases.map(\.phase) == AttemptPhase.allCases)
        #expect(metrics.phases.map(\.time) == [2, 3, 4, 21].map { .milliseconds($0) })
        metrics.tls = .zero
        #expect(metrics.phases.map(\.phase) == [.dns, .connect, .total])
        // The name was resolved, and the host does not respond.
        metrics.connect = .zero
        #expect(metrics.phases.map(\.phase) == [.dns, .total])
    }
}
