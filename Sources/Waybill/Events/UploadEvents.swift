public import WaybillCore

extension EventHub {
    /// How many events wait for a slow listener of a session, and of an upload.
    static let room = (session: 4_096, upload: 64)

    /// The events of an upload, or of all. `end` is asked for the end of an upload that is over already.
    func events(of upload: UploadID?, end: @escaping @Sendable () -> UploadEvent?) -> AsyncValues<UploadEvent, Never> {
        AsyncValues { [self] in
            let room = upload == nil ? Self.room.session : Self.room.upload
            let stream = listen(to: upload, room: room)
            // Asked after listening began, so that an end between the two is not missed. It is delivered once.
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
    /// What happens to the session's uploads, for any number of listeners. Listen before an upload is started, and you miss
    /// nothing of it. Ends when the session is closed and its last upload has ended; that of ``UploadSession/shared``, never.
    ///
    /// Nobody listening costs nothing.
    public var events: AsyncValues<UploadEvent, Never> {
        core.events.events(of: nil) { nil }
    }
}

extension UploadTask {
    /// What happens to the upload from now on; if it is over, its end alone. The last event is always
    /// ``UploadEvent/Kind/ended(_:)``.
    public var events: AsyncValues<UploadEvent, Never> {
        run.events.events(of: id) { [run] in run.lastEvent }
    }
}
