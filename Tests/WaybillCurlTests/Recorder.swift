import HTTPTypes
import TestSupport
import Testing
import WaybillCore

@testable import WaybillCurl

/// A sink that records all events and lets a test wait for them.
final class Recorder: TransferSink {
    private struct State {
        var events: [TransferEvent] = []
        var endedAt: ContinuousClock.Instant?
        var waiters: [(isMet: @Sendable ([TransferEvent]) -> Bool, resume: CheckedContinuation<Void, Never>)] = []
    }

    let wantsProgress: Bool
    private let state = Locked(State())

    init(wantsProgress: Bool = true) {
        self.wantsProgress = wantsProgress
    }

    func transfer(_ event: TransferEvent) {
        let met = state.withLock { state in
            state.events.append(event)
            if event.end != nil { state.endedAt = .now }
            let events = state.events
            let met = state.waiters.filter { $0.isMet(events) }.map(\.resume)
            state.waiters.removeAll { $0.isMet(events) }
            return met
        }
        for waiter in met { waiter.resume() }
    }

    var events: [TransferEvent] { state.withLock { $0.events } }

    /// The time at which the engine reported the end, independent of delays in the test.
    var endedAt: ContinuousClock.Instant? { state.withLock { $0.endedAt } }

    /// Waits until the events meet the condition, or until the transfer has ended.
    func waitUntil(_ condition: @escaping @Sendable ([TransferEvent]) -> Bool) async {
        let isMet: @Sendable ([TransferEvent]) -> Bool = { condition($0) || $0.last?.end != nil }
        await withCheckedContinuation { continuation in
            let isMetNow = state.withLock { state in
                if isMet(state.events) { return true }
                state.waiters.append((isMet, continuation))
                return false
            }
            if isMetNow { continuation.resume() }
        }
    }

    func end() async -> TransferEnd {
        await waitUntil { $0.contains { $0.end != nil } }
        return events.compactMap(\.end)[0]
    }

    /// Waits for the end, which must be a failure.
    func failure() async throws -> TransferError {
        switch await end().result {
        case .failure(let error): return error
        case .success(let response):
            Issue.record("expected a failure, got \(response.head.status)")
            throw TransferError(.other, "no failure", outcome: .unknown)
        }
    }

    /// Waits for the end, which must be a response.
    func response() async throws -> TransferResponse {
        try await end().result.get()
    }

    var progress: [TransferProgress] {
        events.compactMap { if case .progress(let progress) = $0 { progress } else { nil } }
    }
}

extension TransferEvent {
    var end: TransferEnd? { if case .ended(let end) = self { end } else { nil } }
    var isConnected: Bool { if case .connected = self { true } else { false } }
    var isBodyAcknowledged: Bool { if case .bodyAcknowledged = self { true } else { false } }
    var isResponseHead: Bool { if case .responseHead = self { true } else { false } }
}

/// A replayable body of a repeating pattern.
struct PatternBody: UploadBody {
    let length: Int64?
    let isReplayable = true
    private let count: Int

    init(_ count: Int, announcesLength: Bool = true) {
        self.count = count
        length = announcesLength ? Int64(count) : nil
    }

    /// The bytes that the server must receive.
    var bytes: [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 % 251) } }

    func makeReader(wake: @escaping @Sendable () -> Void) -> any BodyReader { Reader(count) }

    private final class Reader: BodyReader {
        private var position = 0
        private let count: Int

        init(_ count: Int) { self.count = count }

        func read(into output: inout OutputRawSpan) -> BodyRead {
            guard position < count else { return .end }
            let length = min(count - position, output.freeCapacity)
            for offset in 0..<length { output.append(UInt8(truncatingIfNeeded: (position + offset) % 251)) }
            position += length
            return .bytes(length)
        }

        func close() {}
    }
}

extension TransferRequest {
    /// A POST request with the given options.
    static func post(
        _ url: String, _ body: (any UploadBody)? = nil, configure: (inout TransferOptions) -> Void = { _ in }
    ) -> TransferRequest {
        var options = TransferOptions()
        configure(&options)
        return TransferRequest(
            method: .post, url: url, headers: [.contentType: "application/octet-stream"], body: body, options: options)
    }
}
