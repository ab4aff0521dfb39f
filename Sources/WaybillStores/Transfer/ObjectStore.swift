import FoundationEssentials
import Waybill
import WaybillCore
import WaybillMultipart

/// The requests and settings in which the stores of ``ObjectClient`` differ.
protocol ObjectStore<Options, Stored>: Sendable {
    associatedtype Options: ObjectOptions
    associatedtype Stored: Sendable
    associatedtype Configuration: ObjectStoreConfiguration
    associatedtype Requests: ObjectRequests

    var configuration: Configuration { get }
    var caller: StoreCaller { get }

    /// The endpoint in the identity of a record.
    var endpointText: String { get }

    /// The lower-case prefix of the store's own header fields.
    var fieldPrefix: String { get }

    /// Returns the requests for one object.
    func requests(for key: String, in bucket: String, _ options: Options) -> Requests

    /// Returns the stored object of a successful response.
    func stored(
        _ result: StoreCaller.CallResult, of object: Requests, _ beginning: OSSStoredObject.Beginning
    ) -> Stored
}

extension ObjectStore {
    /// Returns the bucket of a call: the named one, or that of the configuration.
    func bucket(_ named: String?) throws(StoreError) -> String { try configuration.bucket(named) }

    /// Returns the upload of a file, which has not begun.
    func fileUpload(
        _ path: String, to key: String, in bucket: String, _ options: Options,
        _ multipart: OSSMultipartOptions = OSSMultipartOptions()
    ) -> FileUpload {
        FileUpload(
            object: requests(for: key, in: bucket, options), path: path, endpoint: endpointText,
            settings: configuration, multipart: multipart)
    }

    /// Stores a file, in parts if it is large.
    func storedObject(
        _ path: String, to key: String, in bucket: String, _ options: Options, _ multipart: OSSMultipartOptions,
        _ run: ObjectRun
    ) async throws(StoreError) -> Stored {
        let (result, beginning) = try await fileUpload(path, to: key, in: bucket, options, multipart).perform(run)
        return stored(result, of: requests(for: key, in: bucket, options), beginning)
    }

    /// Stores an object in a single request.
    private func put(
        _ body: any UploadBody, to key: String, in bucket: String, _ options: Options, _ run: ObjectRun
    ) async throws(StoreError) -> Stored {
        let object = requests(for: key, in: bucket, options)
        try object.check()
        return stored(try await object.put(body, run), of: object, .whole)
    }

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
}

/// The settings that the clients of ``ObjectStore`` share.
protocol ObjectStoreConfiguration: Sendable {
    var bucket: String? { get }
    var allowsUnencrypted: Bool { get }
    var retry: RetryPolicy { get }
    var maximumConcurrentRequests: Int { get }
    var transfer: TransferOptions { get }
    var records: RecordDirectory? { get }
    var partSize: ByteCount { get }
    var maximumConcurrentParts: Int { get }
    var singleRequestLimit: ByteCount { get }
    var now: @Sendable () -> Date { get }
}

extension ObjectStoreConfiguration {
    /// The options of every request.
    var options: UploadOptions { .signed(transfer, retry) }

    /// Returns the given session, or a new one for a client that was created without one.
    func session(_ given: UploadSession?, _ userAgent: String) -> UploadSession {
        if let given { return given }
        var settings = UploadSession.Configuration()
        settings.maximumConcurrentTransfers = maximumConcurrentRequests
        settings.maximumConcurrentTransfersPerHost = maximumConcurrentRequests
        settings.userAgent = userAgent
        return UploadSession(configuration: settings)
    }

    /// Returns the named bucket, or that of the configuration.
    func bucket(_ named: String?) throws(StoreError) -> String {
        guard let bucket = named ?? bucket else {
            throw StoreError(.invalidBucket, "No bucket is specified. Specify one, or set one in the configuration.")
        }
        return bucket
    }

    /// Throws if requests to the endpoint may not be sent without TLS, or none may be sent at a time.
    func check(endpoint: String, isEncrypted: Bool) throws(StoreError) {
        try transfer.checkEncryption(of: endpoint, isEncrypted: isEncrypted || allowsUnencrypted)
        guard maximumConcurrentRequests > 0, maximumConcurrentParts > 0 else {
            throw StoreError(
                .invalidArgument, "The maximum numbers of concurrent requests and parts must be at least 1.")
        }
    }
}
