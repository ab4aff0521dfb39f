/// How urgent an upload is, beside others of its session.
///
/// The more urgent goes first, but not for ever: each step is worth ``UploadSession/Configuration/priorityReach`` places in
/// line. An upload can be overtaken by so many later ones per step that they are above it and by no more, however many
/// come.
///
/// ```swift
/// options.priority = .high                 // before it starts
/// task.priority = .veryHigh                // while it waits
/// ```
///
/// The steps are those of `Operation.QueuePriority`.
public enum UploadPriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// After everything else.
    case veryLow = -2
    /// After most.
    case low = -1
    /// What an upload has unless told otherwise.
    case normal = 0
    /// Before most.
    case high = 1
    /// Before everything else.
    case veryHigh = 2

    /// Whether the left one is less urgent.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
