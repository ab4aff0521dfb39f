import WaybillCore

/// Sends events to the listeners of a session and of its uploads. Without listeners, the cost is one check under a
/// lock.
final class EventHub: Sendable {
    /// The topic is an upload, or `nil` for a listener to the whole session.
    private let listeners = Broadcast<UploadID?, UploadEvent>()

    /// Whether an event of this upload has a listener.
    func isHeard(_ upload: UploadID) -> Bool {
        !listeners.isEmpty && (listeners.isHeard(nil) || listeners.isHeard(upload))
    }

    /// Sends an event. The event is created only if it has a listener.
    func tell(_ upload: UploadID, _ make: () -> UploadEvent) {
        if isHeard(upload) { listeners.send(make(), to: nil, upload).resume() }
    }

    /// Ends the listeners of an upload, which has ended.
    func end(_ upload: UploadID) { listeners.finish(upload).resume() }

    /// Ends all listeners.
    func close() { listeners.close() }

    /// Adds a listener to one upload or to all. When more than `room` events wait for it, the oldest are dropped.
    func listen(to upload: UploadID?, room: Int) -> Listening<UploadEvent> {
        listeners.listen(to: upload, room: room)
    }
}
