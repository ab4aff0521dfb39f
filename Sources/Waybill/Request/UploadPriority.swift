/// The priority of an upload relative to others of its session.
///
/// Uploads with a higher priority start first, but the effect is bounded: each step is worth
/// ``UploadSession/Configuration/priorityReach`` positions in the queue. For each step of difference, an upload can be
/// overtaken by at most that many later uploads.
///
/// ```swift
/// options.priority = .high                 // before it starts
/// task.priority = .veryHigh                // while it waits
/// ```
///
/// The cases correspond to those of `Operation.QueuePriority`.
public enum UploadPriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// Lower than all other priorities.
    case veryLow = -2
    /// Lower than normal.
    case low = -1
    /// The default priority.
    case normal = 0
    /// Higher than normal.
    case high = 1
    /// Higher than all other priorities.
    case veryHigh = 2

    /// Returns whether the left priority is lower.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
