/// What became of an item of a batch.
public struct UploadBatchResult<Item: Sendable>: Sendable {
    /// Its place in the source, from 0.
    public var index: Int
    /// The item.
    public var item: Item
    /// The answer, or why there is none. An item that was cancelled has an error with the code
    /// ``UploadError/Code/cancelled``.
    public var result: Result<UploadResponse, UploadError>

    /// The answer.
    ///
    /// - Throws: Why there is none.
    public var response: UploadResponse {
        get throws(UploadError) { try result.get() }
    }
}

/// What a batch came to.
public struct UploadBatchSummary: Sendable {
    /// An item that failed.
    public struct Failure: Sendable {
        /// Its place in the source, from 0.
        public var index: Int
        /// Why.
        public var error: UploadError
    }

    /// Items taken from the source.
    public var taken: Int
    /// Items whose upload succeeded.
    public var succeeded: Int
    /// Items whose upload failed.
    public var failed: Int
    /// Items that were cancelled, one by one or with the batch.
    public var cancelled: Int
    /// Body bytes that were acknowledged.
    public var acknowledged: Int64
    /// How long it took.
    public var duration: Duration
    /// The first hundred failures, in the order in which they came.
    public var failures: [Failure]
    /// Whether every item of the source was taken: not so after ``UploadBatch/cancel()``, after a failure that stopped the batch,
    /// or when the source failed.
    public var isComplete: Bool
    /// Why the source could not be read to its end.
    public var sourceError: (any Error)?

    /// Whether all items of the source were taken and all succeeded.
    public var isSuccess: Bool { isComplete && failed == 0 && cancelled == 0 }
}

extension UploadBatchSummary: CustomStringConvertible {
    /// `12 succeeded, 1 failed, 0 cancelled`.
    public var description: String {
        let text = "\(succeeded) succeeded, \(failed) failed, \(cancelled) cancelled"
        return isComplete ? text : text + "; the rest was not started"
    }
}
