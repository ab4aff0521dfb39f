/// The events of an upload in their order, and the state machine that turns each into actions.
///
/// A thread that puts an event in while no other takes events out has to take all of them out. So the machine handles one
/// event at a time, and its actions are performed in order, without a lock.
struct UploadMailbox: Sendable {
    private var machine: UploadStateMachine
    private var events: [UploadStateMachine.Event] = []
    private var isBeingEmptied = false

    init(_ rules: LifeRules) {
        machine = UploadStateMachine(rules)
    }

    /// Adds an event.
    ///
    /// - Returns: Whether the caller has to empty the mailbox.
    mutating func put(_ event: UploadStateMachine.Event) -> Bool {
        events.append(event)
        defer { isBeingEmptied = true }
        return !isBeingEmptied
    }

    /// The actions of the next event; `nil` when there is no event left.
    mutating func next() -> [UploadStateMachine.Action]? {
        guard !events.isEmpty else {
            isBeingEmptied = false
            return nil
        }
        return machine.handle(events.removeFirst())
    }
}
