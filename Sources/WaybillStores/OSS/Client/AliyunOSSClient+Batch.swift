public import Waybill

/// The upload of an item of a batch to Aliyun OSS.
public struct OSSBatchWork: Sendable {
    /// The content of the object. A file goes in parts if it is large, anything else in one request.
    public var content: ObjectContent
    /// The key.
    public var key: String
    /// The bucket; `nil` for the client's.
    public var bucket: String?
    /// Type, metadata, access and callback of the object.
    public var options: OSSObjectOptions
    /// Size and number of the parts of a file.
    public var multipart: OSSMultipartOptions

    /// Describes an upload.
    public init(
        _ content: ObjectContent, to key: String, in bucket: String? = nil,
        options: OSSObjectOptions = OSSObjectOptions(), multipart: OSSMultipartOptions = OSSMultipartOptions()
    ) {
        self.content = content
        self.key = key
        self.bucket = bucket
        self.options = options
        self.multipart = multipart
    }
}

extension AliyunOSSClient {
    /// Starts to store many items and returns the handle of all at once.
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
    ///   - atOnce: How many requests are on their way at most, 1 or more.
    ///   - options: What happens with the others when one fails, and how many results wait for a reader.
    ///   - work: Returns the upload of an item, when it is its turn. An error that it throws is the failure of that item.
    ///   - onProgress: Called with snapshots of each item by its position; never after its end.
    ///   - onEnd: Called once for each item, with its result.
    /// - Returns: The handle of all.
    public func startBatch<Items: Collection & Sendable>(
        of items: Items, atOnce: Int = 3, options: UploadBatchOptions = UploadBatchOptions(),
        work: @escaping @Sendable (Items.Element) async throws -> OSSBatchWork,
        onProgress: (@Sendable (_ index: Int, _ progress: ObjectProgress) -> Void)? = nil,
        onEnd: (@Sendable (BatchResult<Items.Element, OSSStoredObject, StoreError>) -> Void)? = nil
    ) -> ObjectBatch<Items.Element, OSSStoredObject> where Items.Element: Sendable, Items.Iterator: SendableMetatype {
        ObjectBatch(
            of: items, atOnce: atOnce, session: session, options: options, onProgress: onProgress, onEnd: onEnd
        ) { [self] item, group in
            let work = try await work(item)
            return BatchWork(expectedLength: { await work.content.expectedLength() }) { [self] in start(work, group) }
        }
    }

    private func start(_ work: OSSBatchWork, _ group: String) -> ObjectUpload<OSSStoredObject> {
        ObjectUpload(group: group) { [self] run throws(StoreError) in
            let bucket = try bucket(work.bucket)
            guard case .file(let path) = work.content.kind else {
                return try await put(work.content.body(), to: work.key, in: bucket, work.options, run)
            }
            return try await OSSFileUpload(
                client: self, path: path, bucket: bucket, key: work.key, options: work.options,
                multipart: work.multipart
            ).go(run)
        }
    }
}
