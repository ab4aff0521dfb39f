public import Waybill

/// The upload of one batch item to a store with the protocol of S3.
public typealias S3BatchWork = ObjectBatchWork<S3ObjectOptions>

extension S3Client {
    /// Starts uploading a collection of items and immediately returns one handle for the whole batch.
    ///
    /// ```swift
    /// let batch = client.startBatch(of: names) { name in
    ///     S3BatchWork(.file(path: "scans/\(name)"), to: "2026/\(name)")
    /// }
    /// print(await batch.summary)                     // 200 succeeded, 0 failed, 0 cancelled
    /// ```
    ///
    /// - Parameters:
    ///   - items: The items, such as the files of a directory.
    ///   - maximumConcurrentRequests: The maximum number of concurrent requests, at least 1.
    ///   - options: The failure policy of the batch, and the number of results that are buffered for a reader.
    ///   - work: Returns the upload of an item, called when the item starts. An error that it throws fails that item.
    ///   - onProgress: Called with the position of an item and a progress snapshot; never after the item has ended.
    ///   - onEnd: Called exactly once for each item, with its result.
    /// - Returns: The handle of the batch.
    public func startBatch<Items: Collection & Sendable>(
        of items: Items, maximumConcurrentRequests: Int = 3, options: UploadBatchOptions = UploadBatchOptions(),
        work: @escaping @Sendable (Items.Element) async throws -> S3BatchWork,
        onProgress: (@Sendable (_ index: Int, _ progress: ObjectProgress) -> Void)? = nil,
        onEnd: (@Sendable (BatchResult<Items.Element, S3StoredObject, StoreError>) -> Void)? = nil
    ) -> ObjectBatch<Items.Element, S3StoredObject> where Items.Element: Sendable, Items.Iterator: SendableMetatype {
        ObjectBatch(
            of: items, to: self, maximumConcurrentRequests: maximumConcurrentRequests, options: options,
            onProgress: onProgress, onEnd: onEnd, work: work)
    }
}
