import FoundationEssentials
public import Waybill

/// The options of an object that all stores with buckets and keys have.
public protocol ObjectOptions: Sendable, Hashable {
    /// Creates empty options.
    init()
    /// The content type; `nil` to derive it from the extension of the key.
    var contentType: String? { get set }
    /// User metadata. Names are without the store's prefix.
    var metadata: [String: String] { get set }
}

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

/// A client of a store whose objects have a bucket and a key.
protocol ObjectClient: Sendable {
    associatedtype Options: ObjectOptions
    associatedtype Stored: Sendable

    var session: UploadSession { get }

    /// Returns the local date.
    var now: @Sendable () -> Date { get }

    /// Returns the bucket of a call: the named one, or that of the configuration.
    func bucket(_ named: String?) throws(StoreError) -> String

    /// Stores an object in a single request.
    func put(
        _ body: any UploadBody, to key: String, in bucket: String, _ options: Options, _ run: ObjectRun
    ) async throws(StoreError) -> Stored

    /// Stores a file, in parts if it is large.
    func storedObject(
        _ path: String, to key: String, in bucket: String, _ options: Options, _ multipart: OSSMultipartOptions,
        _ run: ObjectRun
    ) async throws(StoreError) -> Stored
}

extension ObjectClient {
    /// Stores content in a single request.
    func put(
        _ content: UploadContent, to key: String, in bucket: String, _ options: Options, _ run: ObjectRun
    ) async throws(StoreError) -> Stored {
        let body = try await content.objectBody()
        var options = options
        options.contentType = options.contentType ?? content.statedType(of: body)
        return try await put(body, to: key, in: bucket, options, run)
    }

    /// Stores the content of a batch item.
    func store(_ work: ObjectBatchWork<Options>, _ run: ObjectRun) async throws(StoreError) -> Stored {
        let bucket = try self.bucket(work.bucket)
        guard case .file(let path, let type) = work.content.kind else {
            return try await put(work.content, to: work.key, in: bucket, work.options, run)
        }
        var options = work.options
        options.contentType = options.contentType ?? type
        return try await storedObject(path, to: work.key, in: bucket, options, work.multipart, run)
    }

    /// Stores an object that a recipe has prepared.
    func store(
        _ object: PreparedObject, in bucket: String?, _ options: Options, _ run: ObjectRun
    ) async throws(StoreError) -> Stored {
        let bucket = try self.bucket(bucket)
        var options = options
        options.contentType = options.contentType ?? object.contentType
        options.metadata.merge(object.metadata) { own, _ in own }
        switch object.source {
        case .bytes(let bytes): return try await put(DataBody(bytes), to: object.key, in: bucket, options, run)
        case .file(let path):
            return try await storedObject(path, to: object.key, in: bucket, options, OSSMultipartOptions(), run)
        }
    }

    /// Prepares the object of a file with a recipe, and stores it.
    func store(
        _ recipe: UploadRecipe, file path: String, _ parameters: [String: String], in bucket: String?,
        _ options: Options, _ date: Date?, _ run: ObjectRun
    ) async throws(StoreError) -> Stored {
        let object = try await recipe.prepare(file: path, parameters: parameters, date: date ?? now())
        return try await store(object, in: bucket, options, run)
    }
}

extension ObjectBatch {
    /// Starts the uploads of a collection of items to a client's store.
    convenience init<Items: Collection & Sendable, Client: ObjectClient>(
        of items: Items, to client: Client, maximumConcurrentRequests: Int, options: UploadBatchOptions,
        onProgress: (@Sendable (Int, ObjectProgress) -> Void)?,
        onEnd: (@Sendable (BatchResult<Item, Value, StoreError>) -> Void)?,
        work: @escaping @Sendable (Item) async throws -> ObjectBatchWork<Client.Options>
    ) where Items.Element == Item, Items.Iterator: SendableMetatype, Client.Stored == Value {
        self.init(
            of: items, maximumConcurrentRequests: maximumConcurrentRequests, session: client.session, options: options,
            onProgress: onProgress, onEnd: onEnd
        ) { item, group in
            let work = try await work(item)
            return BatchWork(expectedLength: { await work.content.expectedLength() }) {
                ObjectUpload(group: group) { run throws(StoreError) in try await client.store(work, run) }
            }
        }
    }
}
