public import Waybill

/// The upload of an item of a batch to Qiniu.
public struct QiniuBatchWork: Sendable {
    /// The source of the object.
    public var source: QiniuSource
    /// The key; `nil` to let the store choose it.
    public var key: String?
    /// The options of the object.
    public var options: QiniuPutOptions

    /// Describes an upload.
    public init(_ source: QiniuSource, to key: String?, options: QiniuPutOptions = QiniuPutOptions()) {
        self.source = source
        self.key = key
        self.options = options
    }
}

extension QiniuClient {
    /// Starts to upload many items and returns the handle of all at once.
    ///
    /// - Parameters:
    ///   - items: The items.
    ///   - atOnce: How many requests are on their way at most, 1 or more.
    ///   - options: What happens with the others when one fails, and how many results wait for a reader.
    ///   - work: Returns the upload of an item, when it is its turn. An error that it throws is the failure of that item.
    ///   - onProgress: Called with snapshots of each item by its position; never after its end.
    ///   - onEnd: Called once for each item, with its result.
    /// - Returns: The handle of all.
    public func startBatch<Items: Collection & Sendable>(
        of items: Items, atOnce: Int = 3, options: UploadBatchOptions = UploadBatchOptions(),
        work: @escaping @Sendable (Items.Element) async throws -> QiniuBatchWork,
        onProgress: (@Sendable (_ index: Int, _ progress: ObjectProgress) -> Void)? = nil,
        onEnd: (@Sendable (BatchResult<Items.Element, QiniuObject, StoreError>) -> Void)? = nil
    ) -> ObjectBatch<Items.Element, QiniuObject> where Items.Element: Sendable, Items.Iterator: SendableMetatype {
        ObjectBatch(
            of: items, atOnce: atOnce, session: session, options: options, onProgress: onProgress, onEnd: onEnd
        ) { [self] item, group in
            let work = try await work(item)
            return BatchWork(expectedLength: { await work.source.expectedLength() }) { [self] in
                startUpload(work.source, to: work.key, options: work.options, group: group)
            }
        }
    }
}
