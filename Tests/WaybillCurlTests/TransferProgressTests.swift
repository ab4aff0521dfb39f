import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillCurl

/// Progress counts what the peer has received, not what the kernel has buffered.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct TransferProgressTests {
    /// Compares each snapshot with what the receiver has read at that moment, on the engine's thread.
    final class Comparer: TransferSink {
        struct Findings {
            var samples: [TransferProgress] = []
            var largestLead: Int64 = 0
            var largestSentLead: Int64 = 0
            var result: Result<TransferResponse, TransferError>?
            var waiter: CheckedContinuation<Void, Never>?
        }

        let wantsProgress = true
        let findings = Locked(Findings())
        private let server: LoopbackServer
        private let onConnection: @Sendable () -> Void

        init(_ server: LoopbackServer, onConnection: @escaping @Sendable () -> Void = {}) {
            self.server = server
            self.onConnection = onConnection
        }

        func transfer(_ event: TransferEvent) {
            switch event {
            case .progress(let progress):
                let read = Int64(server.bodyBytesRead())
                findings.withLock { findings in
                    findings.samples.append(progress)
                    findings.largestLead = max(findings.largestLead, progress.acknowledged - read)
                    findings.largestSentLead = max(findings.largestSentLead, progress.sent - read)
                }
            case .connected: onConnection()
            case .ended(let end):
                let waiter = findings.withLock { findings in
                    findings.result = end.result
                    return findings.waiter.take()
                }
                waiter?.resume()
            default: break
            }
        }

        func end() async -> Findings {
            await withCheckedContinuation { continuation in
                let isOver = findings.withLock { findings in
                    if findings.result == nil { findings.waiter = continuation }
                    return findings.result != nil
                }
                if isOver { continuation.resume() }
            }
            return findings.withLock { $0 }
        }
    }

    /// A receiver with `SO_RCVBUF` of 64 KiB that reads 500 KiB a second: the acknowledged count may be ahead of what
    /// it has read by that buffer, and by at most 128 KiB at any time.
    @Test func `acknowledged leads a slow receiver by at most 128 KiB`() async throws {
        let server = try LoopbackServer(
            Behaviour.respond(200).reading(bytesPerSecond: 500 << 10), receiveBuffer: .kibibytes(64), keepsBodies: false
        )
        let size = 1_500_000
        let comparer = Comparer(server)
        _ = CurlTransport().start(.post(server.url(), PatternBody(size)), sink: comparer)
        let findings = await comparer.end()

        #expect(try findings.result?.get().head.status == .ok)
        #expect(findings.largestLead <= 128 << 10, "acknowledged led the receiver by \(findings.largestLead) bytes")
        #expect(findings.samples.last?.acknowledged == Int64(size))
        // The count must differ from the simpler one: the kernel accepted the body far ahead of the peer.
        #expect(findings.largestSentLead > 256 << 10, "sent led by only \(findings.largestSentLead) bytes")
        #expect(findings.samples.count >= 8)
        for (earlier, later) in zip(findings.samples, findings.samples.dropFirst()) {
            #expect(later.acknowledged >= earlier.acknowledged && later.sent >= earlier.sent)
        }
        #expect(findings.samples.allSatisfy { $0.acknowledged <= $0.sent && $0.accuracy == .exact })
    }

    @Test func `without a listener no progress is reported`() async throws {
        let server = try LoopbackServer()
        let recorder = Recorder(wantsProgress: false)
        _ = CurlTransport().start(.post(server.url(), PatternBody(2_000_000)), sink: recorder)
        _ = try await recorder.response()
        #expect(recorder.progress.isEmpty)
    }
}
