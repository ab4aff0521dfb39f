/// The ordered events of an upload, and the state machine that turns each into actions.
///
/// A thread that adds an event while no other thread empties the mailbox must empty it. The machine therefore handles
/// one event at a time, and its actions are performed in order and without a lock.
struct UploadMailbox: Sendable {
    private var machine: UploadStateMachine
    private var events: [UploadStateMachine.Event] = []
    private var isDraining = false

    init(_ rules: UploadRules) {
        machine = UploadStateMachine(rules)
    }

    /// Adds an event.
    ///
    /// - Returns: Whether the caller has to empty the mailbox.
    mutating func append(_ event: UploadStateMachine.Event) -> Bool {
        events.append(event)
        defer { isDraining = true }
        return !isDraining
    }

    /// Returns the actions of the next event; `nil` if there are no more events.
    mutating func next() -> [UploadStateMachine.Action]? {
        guard !events.isEmpty else {
            isDraining = false
            return nil
        }
        return machine.handle(events.removeFirst())
    }
}
