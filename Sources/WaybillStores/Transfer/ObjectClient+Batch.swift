public import Waybill

/// The upload of one item of a batch to a store whose objects have a bucket and a key.
public struct ObjectBatchWork<Options: ObjectOptions>: Sendable {
    /// The content of the object. A large file is uploaded in parts, everything else in a single request.
    public var content: UploadContent
    /// The object key.
    public var key: String
    /// The bucket, or `nil` for the bucket of the client's configuration.
    public var bucket: String?
    /// The content type, metadata and other properties of the object.
    public var options: Options
    /// The size and concurrency of a file's parts.
    public var multipart: OSSMultipartOptions

    /// Creates the description of an upload.
    public init(
        _ content: UploadContent, to key: String, in bucket: String? = nil, options: Options = Options(),
        multipart: OSSMultipartOptions = OSSMultipartOptions()
    ) {
        self.content = content
        self.key = key
        self.bucket = bucket
        self.options = options
        self.multipart = multipart
    }
}

/// The upload of one batch item to Aliyun OSS.
public typealias OSSBatchWork = ObjectBatchWork<OSSObjectOptions>

/// The upload of one batch item to a store with the protocol of S3.
public typealias S3BatchWork = ObjectBatchWork<S3ObjectOptions>

extension ObjectClient {
    /// Starts uploading a collection of items and immediately returns one handle for the whole batch.
    ///
    /// ```swift
    /// let batch = client.startBatch(of: names) { name in
    ///     OSSBatchWork(.file(path: "scans/\(name)"), to: "2026/\(name)")
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
        work: @escaping @Sendable (Items.Element) async throws -> ObjectBatchWork<Options>,
        onProgress: (@Sendable (_ index: Int, _ progress: ObjectProgress) -> Void)? = nil,
        onEnd: (@Sendable (BatchResult<Items.Element, Stored, StoreError>) -> Void)? = nil
    ) -> ObjectBatch<Items.Element, Stored> where Items.Element: Sendable, Items.Iterator: SendableMetatype {
        ObjectBatch(
            of: items, maximumConcurrentRequests: maximumConcurrentRequests, session: session, options: options,
            onProgress: onProgress, onEnd: onEnd
        ) { [store = operations.store] item, group in
            let work = try await work(item)
            return BatchWork(expectedLength: { await work.content.expectedLength() }) {
                ObjectUpload(group: group) { run throws(StoreError) in try await store.store(work, run) }
            }
        }
    }
}
