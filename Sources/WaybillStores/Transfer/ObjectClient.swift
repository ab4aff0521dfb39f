public import Waybill

/// A client that uploads objects to a store with buckets and keys.
///
/// ``AliyunOSSClient`` and ``S3Client`` have the same methods, which are documented here. Their own pages name the
/// differences between the stores. Only clients of this module can conform.
public protocol ObjectClient: Sendable {
    /// The content type, metadata and other properties of an object.
    associatedtype Options: ObjectOptions
    /// A stored object, with its URL.
    associatedtype Stored: Sendable

    /// The session that sends the client's requests.
    var session: UploadSession { get }

    /// The requests of the store. They are not public.
    var operations: ObjectOperations<Options, Stored> { get }
}

/// The requests of a store for ``ObjectClient``. They are not public.
public struct ObjectOperations<Options: ObjectOptions, Stored: Sendable>: Sendable {
    let store: any ObjectStore<Options, Stored>
}

/// The options of an object that all stores with buckets and keys have.
public protocol ObjectOptions: Sendable, Hashable {
    /// Creates empty options.
    init()
    /// The content type; `nil` to derive it from the extension of the key.
    var contentType: String? { get set }
    /// User metadata. Names are without the store's prefix.
    var metadata: [String: String] { get set }
}

extension ObjectClient {
    /// The offset of the store's clock from the local clock in seconds, as learned from responses; positive if it is
    /// ahead.
    public var clockCorrection: Double { operations.store.caller.clock.correction }

    /// Uploads an object in a single request and waits for the response. Larger objects than the store accepts in a
    /// single request need parts: ``upload(file:to:in:options:multipart:)``.
    ///
    /// Cancelling the surrounding task cancels the upload.
    ///
    /// - Parameters:
    ///   - content: A file, bytes or a stream.
    ///   - key: The object key.
    ///   - bucket: The bucket, or `nil` for the bucket of the client's configuration.
    ///   - options: The content type, metadata, access control and so on.
    /// - Returns: The stored object.
    /// - Throws: ``StoreError``.
    @discardableResult
    public func put(
        _ content: UploadContent, to key: String, in bucket: String? = nil, options: Options = Options()
    ) async throws(StoreError) -> Stored {
        try await startPut(content, to: key, in: bucket, options: options).value
    }

    /// Starts uploading an object in a single request and immediately returns the handle. ``ObjectUpload/value`` throws
    /// the error for an invalid argument.
    @discardableResult
    public func startPut(
        _ content: UploadContent, to key: String, in bucket: String? = nil, options: Options = Options()
    ) -> ObjectUpload<Stored> {
        ObjectUpload { [store = operations.store] run throws(StoreError) in
            try await store.put(content, to: key, in: store.bucket(bucket), options, run)
        }
    }

    /// Uploads a file, in parts if it is large, and waits for the stored object.
    ///
    /// See ``startUpload(file:to:in:options:multipart:)``.
    ///
    /// - Throws: ``StoreError``.
    @discardableResult
    public func upload(
        file path: String, to key: String, in bucket: String? = nil, options: Options = Options(),
        multipart: OSSMultipartOptions = OSSMultipartOptions()
    ) async throws(StoreError) -> Stored {
        try await startUpload(file: path, to: key, in: bucket, options: options, multipart: multipart).value
    }

    /// Starts uploading a file, in parts if it is large, and immediately returns the handle.
    ///
    /// The progress of a multipart upload is recorded on disk (``RecordDirectory``). After a failure, a cancellation or
    /// the end of the process, the same call resumes the upload, in this process or another: parts that the store lists
    /// are not sent again, and a part that was in flight is sent from its start. A record is discarded if the file has
    /// changed or if the store no longer knows the upload; ``OSSStoredObject/Beginning`` reports this.
    ///
    /// The file is checked for changes before each part and before completion. If it has changed, the upload fails with
    /// ``StoreError/Code/sourceChanged``, and no object is created.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - key: The object key.
    ///   - bucket: The bucket, or `nil` for the bucket of the client's configuration.
    ///   - options: The content type, metadata, access control and so on.
    ///   - multipart: The size and concurrency of the parts.
    /// - Returns: The handle of the upload.
    @discardableResult
    public func startUpload(
        file path: String, to key: String, in bucket: String? = nil, options: Options = Options(),
        multipart: OSSMultipartOptions = OSSMultipartOptions()
    ) -> ObjectUpload<Stored> {
        ObjectUpload { [store = operations.store] run throws(StoreError) in
            try await store.storedObject(path, to: key, in: store.bucket(bucket), options, multipart, run)
        }
    }

    /// Discards a resumable upload: its local record, and the parts that the store has. Does nothing if there is no
    /// such upload.
    ///
    /// - Throws: ``StoreError``, with ``StoreError/Code/recordInUse`` while the upload is running.
    public func abandonUpload(file path: String, to key: String, in bucket: String? = nil) async throws(StoreError) {
        try await ObjectUpload { [store = operations.store] run throws(StoreError) in
            try await store.fileUpload(path, to: key, in: store.bucket(bucket), Options()).forget(run)
        }.value
    }

    /// Returns the metadata of an object.
    ///
    /// - Throws: ``StoreError``; its status is 404 when the object does not exist.
    public func head(_ key: String, in bucket: String? = nil) async throws(StoreError) -> OSSObjectInfo {
        try await ObjectUpload { [store = operations.store] run throws(StoreError) in
            let call = StoreCall(.head, bucket: try store.bucket(bucket), key: key)
            return OSSObjectInfo(try await store.caller.make(call, run).response, fieldPrefix: store.fieldPrefix)
        }.value
    }

    /// Deletes an object. Stores report success for an object that does not exist.
    ///
    /// - Throws: ``StoreError``.
    public func delete(_ key: String, in bucket: String? = nil) async throws(StoreError) {
        try await ObjectUpload { [store = operations.store] run throws(StoreError) in
            var call = StoreCall(.delete, bucket: try store.bucket(bucket), key: key)
            call.isIdempotent = true
            _ = try await store.caller.make(call, run)
        }.value
    }
}
