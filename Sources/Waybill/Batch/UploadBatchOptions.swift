/// The options of a batch.
public struct UploadBatchOptions: Sendable, Hashable {
    /// The effect of a failed item on the other items.
    public enum FailurePolicy: Sendable, Hashable, CaseIterable {
        /// The other items continue.
        case goOn
        /// Running items are cancelled and no further item is started.
        case stop
    }

    /// The effect of a failed item on the other items. `goOn` by default.
    public var onFailure: FailurePolicy = .goOn
    /// The maximum number of items that are taken from the source and have not ended, 1 or more; `nil` for twice the
    /// session's slots plus two, which keeps the session busy. A smaller number limits the concurrency of the batch.
    public var window: Int?
    /// The maximum number of results that wait for a reader before the batch pauses, 1 or more. 64 by default.
    public var unreadResults = 64
    /// The number of items, if the source does not provide it. Used only for progress.
    public var expectedCount: Int?
    /// The number of bytes of all bodies, if known in advance. Used only for progress.
    public var expectedBytes: Int64?
    /// The body length of each item in bytes, by position in the source, as far as known in advance. Used only for
    /// progress. The length of a prepared body replaces the expected one.
    ///
    /// ```swift
    /// options.expectedSizes = files.map(\.size)
    /// ```
    public var expectedSizes: [Int64?] = []

    /// Creates the default options.
    public init() {}
}
