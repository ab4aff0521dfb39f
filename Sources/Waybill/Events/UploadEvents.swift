public import WaybillCore

extension EventHub {
    /// The number of events that are buffered for a slow listener of a session and of an upload.
    static let room = (session: 4_096, upload: 64)

    /// Returns the events of an upload, or of all uploads. `end` returns the last event of an upload that has already
    /// ended.
    func events(of upload: UploadID?, end: @escaping @Sendable () -> UploadEvent?) -> AsyncValues<UploadEvent, Never> {
        AsyncValues { [self] in
            let room = upload == nil ? Self.room.session : Self.room.upload
            let stream = listen(to: upload, room: room)
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
