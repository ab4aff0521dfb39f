import WaybillCore

/// Hands events to whoever listens to a session or to one of its uploads. With no listener it costs one look at a flag
/// under a lock.
final class EventHub: Sendable {
    private struct Listener {
        var continuation: AsyncStream<UploadEvent>.Continuation
        var upload: UploadID?
    }

    private struct State {
        var listeners: [Int: Listener] = [:]
        var ofSession: [Int] = []
        var ofUpload: [UploadID: [Int]] = [:]
        var nextKey = 0
        var isClosed = false
    }

    private let state = Locked(State())

    deinit { close() }

    /// Whether an event of this upload would be heard.
    func isHeard(_ upload: UploadID) -> Bool {
        state.withLock { !$0.ofSession.isEmpty || $0.ofUpload[upload] != nil }
    }

    /// Tells an event; made only if somebody hears it.
    func tell(_ upload: UploadID, _ make: () -> UploadEvent) {
        let ears = state.withLock { state -> [AsyncStream<UploadEvent>.Continuation] in
            guard !state.listeners.isEmpty else { return [] }
            let keys = state.ofSession + (state.ofUpload[upload] ?? [])
            return keys.compactMap { state.listeners[$0]?.continuation }
        }
        guard !ears.isEmpty else { return }
        let event = make()
        for ear in ears { ear.yield(event) }
    }

    /// Nothing more will happen to an upload.
    func end(_ upload: UploadID) {
        let leaving = state.withLock { state -> [AsyncStream<UploadEvent>.Continuation] in
            (state.ofUpload.removeValue(forKey: upload) ?? []).compactMap {
                state.listeners.removeValue(forKey: $0)?.continuation
            }
        }
        // Outside the lock: finishing calls the termination handler, which takes it.
        for ear in leaving { ear.finish() }
    }

    /// Nothing more will happen at all.
    func close() {
        let leaving = state.withLock { state -> [AsyncStream<UploadEvent>.Continuation] in
            state.isClosed = true
            defer { (state.listeners, state.ofSession, state.ofUpload) = ([:], [], [:]) }
            return state.listeners.values.map(\.continuation)
        }
        for ear in leaving { ear.finish() }
    }

    /// A new listener, to one upload or to all; of more than `room` events that it has not taken the oldest are lost.
    func listen(to upload: UploadID?, room: Int) -> AsyncStream<UploadEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: UploadEvent.self, bufferingPolicy: .bufferingNewest(room))
        let key = state.withLock { state -> Int? in
            guard !state.isClosed else { return nil }
            state.nextKey += 1
            let key = state.nextKey
            state.listeners[key] = Listener(continuation: continuation, upload: upload)
            if let upload { state.ofUpload[upload, default: []].append(key) } else { state.ofSession.append(key) }
            return key
        }
        if let key {
            continuation.onTermination = { [weak self] _ in self?.remove(key) }
        } else {
            continuation.finish()
        }
        return stream
    }

    private func remove(_ key: Int) {
        // The continuation is destroyed after the lock is free.
        _ = state.withLock { state -> Listener? in
            guard let listener = state.listeners.removeValue(forKey: key) else { return nil }
            guard let upload = listener.upload else {
                state.ofSession.removeAll { $0 == key }
                return listener
            }
            state.ofUpload[upload]?.removeAll { $0 == key }
            if state.ofUpload[upload]?.isEmpty == true { state.ofUpload[upload] = nil }
            return listener
        }
    }
}
