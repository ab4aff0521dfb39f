import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

/// How rate limits are distributed over running transfers, and when.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct LiveRateTests {
    /// A transport that records the limits it receives and ends its attempts on request.
    private final class LimitedTransport: UploadTransport {
        final class Attempt: TransferControl {
            let limits: Watched<[Int64?]>
            let sink: any TransferSink

            init(_ request: TransferRequest, _ sink: any TransferSink) {
                limits = Watched([request.options.rateLimit?.bytes])
                self.sink = sink
            }

            func cancel() {}
            func pause() {}
            func resume() {}
            func limit(to rate: ByteCount?) { limits.update { $0.append(rate?.bytes) } }

            func takeBody() { sink.transfer(.bodyAcknowledged) }

            func end() {
                let evidence = TransferCounters(announced: 3, sent: 3, acknowledged: 3, isBodyComplete: true)
                sink.transfer(
                    .ended(
                        TransferEnd(result: .success(TransferResponse(head: .init(status: .ok))), evidence: evidence))
                )
            }
        }

        let attempts = Watched<[Attempt]>([])

        func start(_ request: TransferRequest, sink: any TransferSink) -> any TransferControl {
            let attempt = Attempt(request, sink)
            attempts.update { $0.append(attempt) }
            return attempt
        }

        subscript(_ index: Int) -> Attempt { attempts.value[index] }
        var current: [Int64?] { attempts.value.map { $0.limits.value.last! } }
    }

    private let transport = LimitedTransport()

    private func session(limit: ByteCount? = nil) -> UploadSession {
        var configuration = UploadSession.Configuration()
        configuration.rateLimit = limit
        configuration.clock = ManualClock()
        return UploadSession(configuration: configuration, transport: transport)
    }

    @discardableResult
    private func start(_ session: UploadSession, _ group: String? = nil, limit: ByteCount? = nil) -> UploadTask {
        var options = UploadOptions(retry: .none)
        options.group = group
        options.transfer.rateLimit = limit
        return session.start(.data([1, 2, 3]), to: SessionWorld.url, options: options)
    }

    @Test func `rate shares are recomputed when a transfer starts or ends`() async throws {
        let session = session(limit: .bytes(1_200))
        let tasks = [start(session), start(session), start(session, limit: .bytes(100))]
        #expect(transport.current == [550, 550, 100])
        // No transfer was unlimited, not even at first.
        #expect(transport[0].limits.value.allSatisfy { $0 != nil })
        transport[0].takeBody()
        #expect(transport.current[1] == 1_100)
        transport[0].end()
        transport[2].end()
        #expect(transport.current[1] == 1_200)
        session.limit(to: .bytes(30))
        #expect(transport.current[1] == 30)
        session.limit(to: nil)
        #expect(transport[1].limits.value.last! == nil)
        transport[1].end()
        for task in tasks { #expect(try await task.response.status == .ok) }
    }

    @Test func `a paused transfer returns its share, and gets one again after resuming`() async throws {
        let session = session(limit: .bytes(1_000))
        let tasks = [start(session), start(session)]
        tasks[0].pause()
        #expect(transport.current[1] == 1_000)
        tasks[0].resume()
        #expect(transport.current == [500, 500])
        tasks[0].cancel()
        tasks[1].limit(to: .bytes(10))
        #expect(tasks[1].rateLimit == .bytes(10))
        #expect(transport.current == [990, 10])
        transport[0].end()
        transport[1].end()
        _ = try await tasks[1].response
    }

    @Test func `a group shares its own limit within that of the session`() async throws {
        let session = session()
        let group = session.group("g")
        group.limit(to: .bytes(90))
        #expect(group.rateLimit == .bytes(90))
        start(session, "g")
        start(session, "g")
        start(session)
        #expect(transport.current == [45, 45, nil])
        session.limit(to: .bytes(60))
        #expect(transport.current == [20, 20, 20])
        group.limit(to: .bytes(10))
        #expect(transport.current == [5, 5, 50])
        group.limit(to: nil)
        session.limit(to: nil)
        #expect(transport.current == [nil, nil, nil])
        for attempt in transport.attempts.value { attempt.end() }
        await session.close()
    }

    @Test func `a limit set before the start applies to the transfer`() async throws {
        let session = session()
        session.pauseAll()
        let task = start(session)
        task.limit(to: .bytes(7))
        session.resumeAll()
        #expect(transport.current == [7])
        task.limit(to: .bytes(0))
        #expect(transport.current == [1])
        transport[0].end()
        _ = try await task.response
        task.limit(to: .bytes(7))
    }

    @Test func `without limits no transfer receives a rate`() async throws {
        let session = session()
        let tasks = (0..<4).map { _ in start(session) }
        for attempt in transport.attempts.value {
            #expect(attempt.limits.value == [nil])
            attempt.end()
        }
        for task in tasks { _ = try await task.response }
    }
}
