/// Where an item of an outbox stands.
public enum OutboxState: String, Sendable, Hashable, Codable, CaseIterable {
    /// It can be delivered as soon as its lane and a slot are free.
    case ready
    /// It is being delivered.
    case leased
    /// An attempt failed, and another one follows after a wait.
    case waiting
    /// An attempt ended and nobody saw how: what became of it has to be found out before anything is sent again.
    case verify
    /// It stands still until somebody resumes it.
    case paused
    /// It was delivered.
    case done
    /// It was not delivered, or nobody could say whether it was; the reason tells which.
    case failed
    /// Somebody called it off.
    case cancelled

    /// Whether nothing follows by itself.
    public var isTerminal: Bool { self == .done || self == .failed || self == .cancelled }
}

/// What is done about an item of which nobody can say whether it was delivered.
public enum UnknownPolicy: String, Sendable, Hashable, Codable {
    /// It fails with the reason `outcomeUnknown`, and somebody looks.
    case fail
    /// It is sent again: for servers to which twice is no harm.
    case retry
    /// It is paused until somebody decides: resume asks the server once more, retry sends it again, cancel leaves it.
    case ask
}

/// What is done about an item whose source file is not what it was when it was handed over.
public enum SourceChangePolicy: String, Sendable, Hashable, Codable {
    /// It fails.
    case fail
    /// What the file is now is delivered.
    case restart
    /// It is cancelled.
    case skip
}
