import WaybillCore

/// Events as they come: ``UploadSession/events`` and ``UploadTask/events``.
///
/// A listener hears what happens from the moment it asks for its iterator. A slow one delays nobody: of more than
/// ``room`` events that wait for it, the oldest are lost.
public struct UploadEventSequence: AsyncSequence, Sendable {
    /// How many events wait for a slow listener of a session, and of an upload.
    public static let room = (session: 4_096, upload: 64)

    let hub: EventHub
    let upload: UploadID?
    /// Whether the upload is over already.
    let isOver: @Sendable () -> UploadEvent?

    /// A new listener.
    public func makeAsyncIterator() -> Iterator {
        let room = upload == nil ? Self.room.session : Self.room.upload
        let stream = hub.listen(to: upload, room: room)
        // Asked after listening began: an end between the two is heard twice and told once.
        return Iterator(base: stream.makeAsyncIterator(), last: isOver())
    }

    /// Gives one event after the other.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<UploadEvent>.Iterator
        /// The end of an upload that was over before somebody listened.
        var last: UploadEvent?

        /// The next event; `nil` after the end of the upload or of the session, or when the task was cancelled.
        public mutating func next() async -> UploadEvent? {
            await next(isolation: #isolation)
        }

        /// The next event, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> UploadEvent? {
            if let event = last.take() {
                base = AsyncStream { $0.finish() }.makeAsyncIterator()
                return event
            }
            return await base.next(isolation: actor)
        }
    }
}

extension UploadSession {
    /// What happens to the session's uploads, for any number of listeners. Listen before an upload is started, and you miss
    /// nothing of it. Ends when the session is closed and its last upload has ended; that of ``UploadSession/shared``, never.
    ///
    /// Nobody listening costs nothing.
    public var events: UploadEventSequence {
        UploadEventSequence(hub: core.events, upload: nil) { nil }
    }
}

extension UploadTask {
    /// What happens to the upload from now on; if it is over, its end alone. The last event is always
    /// ``UploadEvent/Kind/ended(_:)``.
    public var events: UploadEventSequence {
        UploadEventSequence(hub: run.events, upload: id) { [run] in run.lastEvent }
    }
}
