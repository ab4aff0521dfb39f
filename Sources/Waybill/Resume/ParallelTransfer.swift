import WaybillCore

/// Uploads the parts of a body concurrently, and reports them as one transfer.
///
/// It ends when the attempts of all parts have ended: with the end of the last one if the server has stored all parts,
/// otherwise with that of the first part that failed. After a rejection the other parts are cancelled. After any other
/// failure they end with their current append, because the server might keep nothing of it otherwise.
final class ParallelTransfer: TransferControl {
    private struct Part {
        /// The attempt; `nil` after its end.
        var attempt: ResumableAttempt?
        var sent: Int64
        var acknowledged: Int64
        var stored: Int64
    }

    private struct State {
        var parts: [Part] = []
        /// The end of the first part that failed.
        var failure: TransferEnd?
        var isConnected = false
        var rateLimit: ByteCount?
        /// Calls that must be made in order, and without the lock.
        var calls: [@Sendable () -> Void] = []
        /// Whether a thread is making these calls.
        var isCalling = false

        var attempts: [ResumableAttempt] { parts.compactMap(\.attempt) }
        func sum(_ count: KeyPath<Part, Int64>) -> Int64 { parts.reduce(0) { $0 + $1[keyPath: count] } }
    }

    private let sink: any TransferSink
    private let state = Locked(State())

    /// Creates the transfer without starting it.
    ///
    /// - Parameters:
    ///   - parts: The parts.
    ///   - rateLimit: The rate limit of all parts together.
    ///   - sink: The receiver of the events.
    ///   - attempt: Creates the attempt of a part.
    init(
        _ parts: ResumableParts, rateLimit: ByteCount?, sink: any TransferSink,
        attempt: (ResumableUpload, any TransferSink) -> ResumableAttempt
    ) {
        self.sink = sink
        var all: [Part] = []
        for (index, (upload, record)) in zip(parts.uploads, parts.storage.parts).enumerated() {
            all.append(
                Part(
                    attempt: attempt(upload, PartSink(transfer: self, index: index)), sent: record.offset,
                    acknowledged: record.offset, stored: record.offset))
        }
        state.withLock { [all] in ($0.parts, $0.rateLimit) = (all, rateLimit) }
    }

    /// Starts the attempts of all parts.
    func start() {
        for attempt in state.withLock({ $0.attempts }) { attempt.start() }
    }

    /// Changes the state, and then makes the calls that the closure returns, after those of earlier changes.
    private func update(_ change: (inout State) -> [@Sendable () -> Void]) {
        let mustCall = state.withLock { state in
            state.calls += change(&state)
            defer { state.isCalling = state.isCalling || !state.calls.isEmpty }
            return !state.isCalling && !state.calls.isEmpty
        }
        guard mustCall else { return }
        while let call = nextCall() { call() }
    }

    private func nextCall() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard state.calls.isEmpty else { return state.calls.removeFirst() }
            state.isCalling = false
            return nil
        }
    }

    // MARK: - Events of a part

    fileprivate func transfer(_ event: TransferEvent, ofPart index: Int) {
        update { state in
            switch event {
            case .connected:
                defer { state.isConnected = true }
                return state.isConnected ? [] : report(event)
            case .progress(var progress):
                state.parts[index].sent = progress.sent
                state.parts[index].acknowledged = progress.acknowledged
                progress.sent = state.sum(\.sent)
                progress.acknowledged = state.sum(\.acknowledged)
                return report(.progress(progress))
            case .stored(var stored):
                state.parts[index].sent = stored.bytes
                state.parts[index].acknowledged = stored.bytes
                state.parts[index].stored = stored.bytes
                stored.bytes = state.sum(\.stored)
                return report(.stored(stored))
            case .ended(let end): return ended(end, part: index, &state)
            case .bodyAcknowledged, .interimHead, .responseHead: return []
            }
        }
    }

    fileprivate var wantsProgress: Bool { sink.wantsProgress }

    private func report(_ event: TransferEvent) -> [@Sendable () -> Void] { [{ [sink] in sink.transfer(event) }] }

    private func ended(_ end: TransferEnd, part index: Int, _ state: inout State) -> [@Sendable () -> Void] {
        state.parts[index].attempt = nil
        let attempts = state.attempts
        let isFirstFailure = end.resumption?.uploadURL == nil && state.failure == nil
        if isFirstFailure { state.failure = end }
        guard attempts.isEmpty else {
            guard isFirstFailure else { return limit(state) }
            let cancels = Self.cancelsOthers(end)
            return [{ for attempt in attempts { cancels ? attempt.cancel() : attempt.stopAfterRequest() } }]
        }
        var last = state.failure ?? end
        last.evidence.sent = state.sum(\.sent)
        last.evidence.acknowledged = state.sum(\.acknowledged)
        return report(.ended(last))
    }

    /// Whether the other parts can't be continued after this end. After 401 they can, with another credential.
    private static func cancelsOthers(_ end: TransferEnd) -> Bool {
        guard case .success(let response) = end.result else { return false }
        return response.head.status.kind == .clientError && ![401, 408, 429].contains(response.head.status.code)
    }

    /// Divides the rate limit among the parts that have not ended.
    private func limit(_ state: State) -> [@Sendable () -> Void] {
        guard let rateLimit = state.rateLimit else { return [] }
        let attempts = state.attempts
        return [{ for attempt in attempts { attempt.limit(to: rateLimit.share(of: attempts.count)) } }]
    }
}

// MARK: - Control

extension ParallelTransfer {
    func cancel() { control { $0.cancel() } }
    func pause() { control { $0.pause() } }
    func resume() { control { $0.resume() } }

    func limit(to rate: ByteCount?) {
        update { state in
            state.rateLimit = rate
            let attempts = state.attempts
            guard rate == nil else { return limit(state) }
            return [{ for attempt in attempts { attempt.limit(to: nil) } }]
        }
    }

    private func control(_ call: @escaping @Sendable (ResumableAttempt) -> Void) {
        update { state in
            let attempts = state.attempts
            return [{ for attempt in attempts { call(attempt) } }]
        }
    }
}

extension ByteCount {
    /// Returns one of `count` equal shares of a rate limit, at least one byte per second.
    func share(of count: Int) -> ByteCount { ByteCount(bytes: max(1, bytes / Int64(count))) }
}

/// Adds the number of the part to each event.
private final class PartSink: TransferSink {
    private let transfer: ParallelTransfer
    private let index: Int

    init(transfer: ParallelTransfer, index: Int) {
        self.transfer = transfer
        self.index = index
    }

    func transfer(_ event: TransferEvent) { transfer.transfer(event, ofPart: index) }
    var wantsProgress: Bool { transfer.wantsProgress }
}
