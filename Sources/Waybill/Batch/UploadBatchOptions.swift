/// How a batch goes about its items.
public struct UploadBatchOptions: Sendable, Hashable {
    /// What happens with the others when an item fails.
    public enum FailurePolicy: Sendable, Hashable, CaseIterable {
        /// They go on.
        case goOn
        /// Those on their way are cancelled and no further one is started.
        case stop
    }

    /// What happens with the others when an item fails. `goOn` unless set.
    public var onFailure: FailurePolicy = .goOn
    /// The most items that are taken from the source and have not ended, 1 or more; `nil` for as many as keep the session
    /// busy, which is twice its slots and two. A smaller number bounds how many of a batch run at once.
    public var window: Int?
    /// The most results that wait for their reader before the batch waits for it too, 1 or more. 64 unless set.
    public var unreadResults = 64
    /// How many items there are, where the source can't tell; for progress alone.
    public var expectedCount: Int?
    /// How many bytes all bodies have together, if that is known before; for progress alone.
    public var expectedBytes: Int64?
    /// How many bytes the body of each item has, by its place in the source, as far as that is known before; for progress
    /// alone. The length of a prepared body replaces what was expected.
    ///
    /// ```swift
    /// options.expectedSizes = files.map(\.size)
    /// ```
    public var expectedSizes: [Int64?] = []

    /// The defaults.
    public init() {}
}
