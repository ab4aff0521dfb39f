import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(3 * Slowness.factor))) struct UploadEventTests {
    private func words(_ events: [UploadEvent]) -> [String] {
        events.map { event in
            switch event.kind {
            case .queued: "queued"
            case .preparing: "preparing"
            case .attemptStarted: "started \(event.attempt)"
            case .connected: "connected"
            case .responseHead(let status): "head \(status.code)"
            case .attemptEnded(let end): "over \(end.status?.code ?? 0)"
            case .redirected(let url): "to \(url)"
            case .refreshingCredential: "refreshing"
            case .retrying(_, let reason): "retrying: \(reason)"
            case .paused: "paused"
            case .resumed: "resumed"
            case .restarted: "restarted"
            case .ended(let end): end.code.map { "failed \($0)" } ?? "succeeded"
            }
        }
    }

    @Test func `a session publishes all events of an upload in order`() async throws {
        let (session, _, _) = SessionWorld.intercepted(
            [],
            [.responding(.serviceUnavailable), .redirecting(to: "/next?sig=s3cret"), .responding(.ok)],
            retry: RetryPolicy(maxRetries: 1, baseDelay: .zero))
        let listener = Task { [events = session.events.makeAsyncIterator()] in
            var events = events
            var found: [UploadEvent] = []
            while let event = await events.next() { found.append(event) }
            return found
        }
        let task = session.start([.text("a", "b")], to: SessionWorld.url)
        _ = try await task.response
        await session.close()
        let events = await listener.value
        #expect(
            words(events) == [
                "queued", "preparing", "queued", "started 1", "connected", "head 503", "over 503",
                "retrying: 503 Service Unavailable", "queued", "started 2", "connected", "head 307", "over 307",
                "to http://backend.example/next?<redacted>", "queued", "started 3", "connected", "head 200", "over 200",
                "succeeded",
            ])
        #expect(events.allSatisfy { $0.id == task.id })
        guard case .ended(let end)? = events.last?.kind else { return }
        #expect(end.attempts.count == 3 && end.outcome == nil)
    }

    @Test func `a listener receives the end of its upload last, even when it starts late`() async throws {
        let gate = ScriptGate()
        let (session, _, _) = SessionWorld.intercepted([], [[.wait(gate), .respond(.badRequest)], .responding(.ok)])
        let task = session.start(.data([1]), to: SessionWorld.url)
        let early = Task { [iterator = task.events.makeAsyncIterator()] in
            var iterator = iterator
            var found: [UploadEvent] = []
            while let event = await iterator.next() { found.append(event) }
            return found
        }
        gate.open()
        _ = await task.end()
        _ = try await session.upload(.data([1]), to: SessionWorld.url)
        #expect(await words(early.value).last == "failed rejected")
        #expect(await early.value.allSatisfy { $0.id == task.id })
        var late: [UploadEvent] = []
        for await event in task.events { late.append(event) }
        #expect(words(late) == ["failed rejected"])
    }

    @Test func `pausing and resuming publish events while an interceptor runs`() async throws {
        let entered = Watched(0)
        let canContinue = Watched(false)
        let (session, transport, _) = SessionWorld.intercepted(
            [
                .adapting("slow") { _ in
                    entered.update { $0 += 1 }
                    try await canContinue.waitUntil { $0 }
                }
            ])
        let task = session.start(.data([1]), to: SessionWorld.url)
        let listener = Task { [iterator = task.events.makeAsyncIterator()] in
            var iterator = iterator
            var found: [UploadEvent] = []
            while let event = await iterator.next() { found.append(event) }
            return found
        }
        try await entered.waitUntil { $0 == 1 }
        task.pause()
        canContinue.update { $0 = true }
        task.resume()
        _ = try await task.response
        let reported = await words(listener.value).filter { ["paused", "resumed", "succeeded"].contains($0) }
        #expect(reported == ["paused", "resumed", "succeeded"])
        #expect(transport.transfers.count == 1)
    }

    @Test func `a listener that does not read loses only the oldest events`() async throws {
        let (session, _, _) = SessionWorld.intercepted([], [.responding(.ok)])
        var lazy = session.events.makeAsyncIterator()
        let uploads = 700
        for _ in 0..<uploads { _ = try await session.upload(.data([1]), to: SessionWorld.url) }
        await session.close()
        var found: [UploadEvent] = []
        while let event = await lazy.next() { found.append(event) }
        #expect(found.count == EventHub.bufferSize.session)
        #expect(words(found).last == "succeeded")
        var after = session.events.makeAsyncIterator()
        #expect(await after.next() == nil)
    }

    @Test func `releasing a session ends its listeners`() async throws {
        var events = UploadSession(transport: ScriptedTransport(.responding(.ok))).events.makeAsyncIterator()
        #expect(await events.next() == nil)
    }

    @Test func `a cancelled listener is removed`() async throws {
        let hub = EventHub()
        let id = UploadID()
        let stream = hub.listen(to: id, bufferSize: 4)
        #expect(hub.hasListeners(for: id) && !hub.hasListeners(for: UploadID()))
        let task = Task { for await _ in stream {} }
        task.cancel()
        await task.value
        #expect(!hub.hasListeners(for: id))
        hub.send(for: id) {
            Issue.record("an event was created without a listener")
            return UploadEvent(id: id, attempt: 1, elapsed: .zero, kind: .queued)
        }
    }
}
