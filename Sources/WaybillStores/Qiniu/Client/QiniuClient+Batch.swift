public import Waybill

/// The upload of one batch item to Qiniu.
public struct QiniuBatchWork: Sendable {
    /// The source of the object.
    public var source: QiniuSource
    /// The object key, or `nil` to let the store choose it.
    public var key: String?
    /// The options of the object.
    public var options: QiniuPutOptions

    /// Creates the description of an upload.
    public init(_ source: QiniuSource, to key: String?, options: QiniuPutOptions = QiniuPutOptions()) {
        self.source = source
        self.key = key
        self.options = options
    }
}

extension QiniuClient {
    /// Starts uploading a collection of items and immediately returns one handle for the whole batch.
    ///
    /// - Parameters:
    ///   - items: The items.
    ///   - maximumConcurrentRequests: The maximum number of concurrent requests, at least 1.
    ///   - options: The failure policy of the batch, and the number of results that are buffered for a reader.
    ///   - work: Returns the upload of an item, called when the item starts. An error that it throws fails that item.
    ///   - onProgress: Called with the position of an item and a progress snapshot; never after the item has ended.
    ///   - onEnd: Called exactly once for each item, with its result.
    /// - Returns: The handle of the batch.
    public func startBatch<Items: Collection & Sendable>(
        of items: Items, maximumConcurrentRequests: Int = 3, options: UploadBatchOptions = UploadBatchOptions(),
        work: @escaping @Sendable (Items.Element) async throws -> QiniuBatchWork,
        onProgress: (@Sendable (_ index: Int, _ progress: ObjectProgress) -> Void)? = nil,
        onEnd: (@Sendable (BatchResult<Items.Element, QiniuObject, StoreError>) -> Void)? = nil
    ) -> ObjectBatch<Items.Element, QiniuObject> where Items.Element: Sendable, Items.Iterator: SendableMetatype {
        ObjectBatch(
            of: items, maximumConcurrentRequests: maximumConcurrentRequests, session: session, options: options,
            onProgress: onProgress, onEnd: onEnd
        ) { [self] item, group in
            let work = try await work(item)
            return BatchWork(expectedLength: { await work.source.expectedLength() }) { [self] in
                startUpload(work.source, to: work.key, options: work.options, group: group)
            }
        }
    }
}
