public import WaybillCore

/// Sends events to the listeners of a session and of its uploads. Without listeners, the cost is one check under a
/// lock.
final class EventHub: Sendable {
    /// The topic is an upload, or `nil` for a listener to the whole session.
    private let listeners = Broadcast<UploadID?, UploadEvent>()

    deinit { listeners.close() }

    /// Whether an event of this upload has a listener.
    func hasListeners(for upload: UploadID) -> Bool {
        !listeners.isEmpty && (listeners.hasListeners(for: nil) || listeners.hasListeners(for: upload))
    }

    /// Sends an event. The event is created only if it has a listener.
    func send(for upload: UploadID, _ make: () -> UploadEvent) {
        if hasListeners(for: upload) { listeners.send(make(), to: nil, upload).resume() }
    }

    /// Ends the listeners of an upload, which has ended.
    func end(_ upload: UploadID) { listeners.finish(upload).resume() }

    /// Ends all listeners.
    func close() { listeners.close() }

    /// Adds a listener to one upload or to all. When more than `bufferSize` events wait for it, the oldest are dropped.
    func listen(to upload: UploadID?, bufferSize: Int) -> BroadcastSequence<UploadEvent> {
        listeners.listen(to: upload, bufferSize: bufferSize)
    }
}

extension EventHub {
    /// The number of events that are buffered for a slow listener of a session and of an upload.
    static let bufferSize = (session: 4_096, upload: 64)

    /// Returns the events of an upload, or of all uploads. `end` returns the last event of an upload that has already
    /// ended.
    func events(of upload: UploadID?, end: @escaping @Sendable () -> UploadEvent?) -> AsyncValues<UploadEvent, Never> {
        AsyncValues { [self] in
            let bufferSize = upload == nil ? Self.bufferSize.session : Self.bufferSize.upload
            let stream = listen(to: upload, bufferSize: bufferSize)
            // Check after listening began, so that an end in between is not missed. It is delivered once.
            if let end = end() {
                var last: UploadEvent? = end
                return { last.take() }
            }
            var events = stream.makeAsyncIterator()
            return { await events.next(isolation: #isolation) }
        }
    }
}

extension UploadSession {
    /// The events of the session's uploads, for any number of listeners. To receive all events of an upload, listen
    /// before it is started. The sequence ends when the session is closed and its last upload has ended. That of
    /// ``UploadSession/shared`` never ends.
    ///
    /// Without listeners, no events are created.
    public var events: AsyncValues<UploadEvent, Never> {
        core.events.events(of: nil) { nil }
    }
}

extension UploadTask {
    /// The events of the upload from now on, or only its last event if it has ended. The last event is always
    /// ``UploadEvent/Kind/ended(_:)``.
    public var events: AsyncValues<UploadEvent, Never> {
        run.events.events(of: id) { [run] in run.lastEvent }
    }
}
