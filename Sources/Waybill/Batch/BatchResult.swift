/// The result of an item of a batch.
public struct BatchResult<Item: Sendable, Value: Sendable, Failure: Error>: Sendable {
    /// The position of the item in the source, from 0.
    public var index: Int
    /// The item.
    public var item: Item
    /// The value of the upload, or its error. If the item was cancelled, `isCancelled` of the error is true.
    public var result: Result<Value, Failure>
}

extension BatchResult where Value == UploadResponse, Failure == UploadError {
    /// The response.
    ///
    /// - Throws: The error of the upload, if it failed.
    public var response: UploadResponse {
        get throws(UploadError) { try result.get() }
    }
}

/// The summary of a finished batch.
public struct BatchSummary<Reason: Error>: Sendable {
    /// An item that failed.
    public struct Failure: Sendable {
        /// The position of the item in the source, from 0.
        public var index: Int
        /// The error of the item.
        public var error: Reason
    }

    /// The number of items taken from the source.
    public var taken: Int
    /// The number of items whose upload succeeded.
    public var succeeded: Int
    /// The number of items whose upload failed.
    public var failed: Int
    /// The number of items that were cancelled, individually or with the batch.
    public var cancelled: Int
    /// The number of acknowledged body bytes.
    public var acknowledged: Int64
    /// The time from the start of the batch to the end of its last item.
    public var duration: Duration
    /// The first hundred failures, in the order in which they occurred.
    public var failures: [Failure]
    /// Whether every item of the source was taken. `false` when the source failed; for an ``UploadBatch`` also after
    /// ``UploadBatch/cancel()`` and after a failure that stopped the batch.
    public var isComplete: Bool
    /// The error of the source, if reading it failed.
    public var sourceError: (any Error)?

    /// Whether all items of the source were taken and all succeeded.
    public var isSuccess: Bool { isComplete && failed == 0 && cancelled == 0 }
}

extension BatchSummary: CustomStringConvertible {
    /// A line such as `12 succeeded, 1 failed, 0 cancelled`.
    public var description: String {
        let text = "\(succeeded) succeeded, \(failed) failed, \(cancelled) cancelled"
        return isComplete ? text : text + "; remaining items were not started"
    }
}
