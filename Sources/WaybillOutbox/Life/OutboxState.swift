/// The state of an item in an outbox.
public enum OutboxState: String, Sendable, Hashable, Codable, CaseIterable {
    /// The item can be delivered as soon as its lane and a slot are free.
    case ready
    /// The item is being delivered.
    case leased
    /// An attempt failed, and another one follows after a wait.
    case waiting
    /// An attempt ended with an unknown outcome, which has to be verified before anything is sent again.
    case verify
    /// The item is paused until it is resumed.
    case paused
    /// The item was delivered.
    case done
    /// The item was not delivered, or its outcome could not be determined; the reason distinguishes the two.
    case failed
    /// The item was cancelled.
    case cancelled

    /// Whether the item has ended.
    public var isTerminal: Bool { self == .done || self == .failed || self == .cancelled }
}

/// The policy for an item whose outcome cannot be determined.
public enum UnknownPolicy: String, Sendable, Hashable, Codable {
    /// The item fails with the reason `outcomeUnknown`.
    case fail
    /// The item is sent again: for servers that tolerate duplicates.
    case retry
    /// The item is paused for a decision: resuming it verifies it again, retrying sends it again, cancelling ends it.
    case ask
}

/// The policy for an item whose source file has changed since it was enqueued.
public enum SourceChangePolicy: String, Sendable, Hashable, Codable {
    /// The item fails.
    case fail
    /// The current content of the file is delivered.
    case restart
    /// The item is cancelled.
    case skip
}
