import FoundationEssentials
public import Waybill
import WaybillCore

extension S3Client {
    /// Uploads an object in a single request and waits for the response. Stores accept at most 5 GiB; larger objects
    /// need parts.
    ///
    /// Cancelling the surrounding task cancels the upload.
    ///
    /// - Parameters:
    ///   - content: A file, bytes or a stream of known length.
    ///   - key: The object key.
    ///   - bucket: The bucket, or `nil` for the bucket of the client's configuration.
    ///   - options: The content type, metadata, access control and condition of the object.
    /// - Returns: The stored object.
    /// - Throws: ``StoreError``; its store code is `PreconditionFailed` if the condition was not met.
    @discardableResult
    public func put(
        _ content: UploadContent, to key: String, in bucket: String? = nil,
        options: S3ObjectOptions = S3ObjectOptions()
    ) async throws(StoreError) -> S3StoredObject {
        try await startPut(content, to: key, in: bucket, options: options).value
    }

    /// Starts uploading an object in a single request and immediately returns the handle. ``ObjectUpload/value`` throws
    /// the error for an invalid argument.
    @discardableResult
    public func startPut(
        _ content: UploadContent, to key: String, in bucket: String? = nil,
        options: S3ObjectOptions = S3ObjectOptions()
    ) -> ObjectUpload<S3StoredObject> {
        ObjectUpload { run throws(StoreError) in
            try await self.put(content, to: key, in: self.bucket(bucket), options, run)
        }
    }

    /// Uploads a file, in parts if it is large, and waits for the stored object.
    ///
    /// See ``startUpload(file:to:in:options:multipart:)``.
    ///
    /// - Throws: ``StoreError``.
    @discardableResult
    public func upload(
        file path: String, to key: String, in bucket: String? = nil, options: S3ObjectOptions = S3ObjectOptions(),
        multipart: S3MultipartOptions = S3MultipartOptions()
    ) async throws(StoreError) -> S3StoredObject {
        try await startUpload(file: path, to: key, in: bucket, options: options, multipart: multipart).value
    }

    /// Starts uploading a file, in parts if it is large, and immediately returns the handle.
    ///
    /// The progress of a multipart upload is recorded on disk (``RecordDirectory``). After a failure, a cancellation or
    /// the end of the process, the same call resumes the upload, in this process or another: parts that the store lists
    /// are not sent again. The file is checked for changes before each part and before completion. If it has changed,
    /// the upload fails with ``StoreError/Code/sourceChanged``, and no object is created.
    ///
    /// Each part is compared with its `ETag` if that is an MD5. ``Configuration/checksum`` sends the checksum of each part.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - key: The object key.
    ///   - bucket: The bucket, or `nil` for the bucket of the client's configuration.
    ///   - options: The content type, metadata, access control and condition of the object.
    ///   - multipart: The size and concurrency of the parts.
    /// - Returns: The handle of the upload.
    @discardableResult
    public func startUpload(
        file path: String, to key: String, in bucket: String? = nil, options: S3ObjectOptions = S3ObjectOptions(),
        multipart: S3MultipartOptions = S3MultipartOptions()
    ) -> ObjectUpload<S3StoredObject> {
        ObjectUpload { run throws(StoreError) in
            try await self.storedObject(path, to: key, in: self.bucket(bucket), options, multipart, run)
        }
    }

    /// Discards a resumable upload: its local record, and the parts that the store has. Does nothing if there is no
    /// such upload.
    ///
    /// - Throws: ``StoreError``, with ``StoreError/Code/recordInUse`` while the upload is running.
    public func abandonUpload(file path: String, to key: String, in bucket: String? = nil) async throws(StoreError) {
        try await ObjectUpload { run throws(StoreError) in
            let object = S3ObjectRequests(
                client: self, bucket: try self.bucket(bucket), key: key, options: S3ObjectOptions())
            try await self.fileUpload(path, object, S3MultipartOptions()).forget(run)
        }.value
    }
}

extension S3Client: ObjectClient {
    var now: @Sendable () -> Date { configuration.now }

    func put(
        _ body: any UploadBody, to key: String, in bucket: String, _ options: S3ObjectOptions, _ run: ObjectRun
    ) async throws(StoreError) -> S3StoredObject {
        let object = S3ObjectRequests(client: self, bucket: bucket, key: key, options: options)
        try object.check()
        return stored(try await object.put(body, run), object)
    }

    func storedObject(
        _ path: String, to key: String, in bucket: String, _ options: S3ObjectOptions,
        _ multipart: S3MultipartOptions, _ run: ObjectRun
    ) async throws(StoreError) -> S3StoredObject {
        let object = S3ObjectRequests(client: self, bucket: bucket, key: key, options: options)
        let (result, beginning) = try await fileUpload(path, object, multipart).perform(run)
        var stored = stored(result, object)
        stored.beginning = beginning
        return stored
    }

    /// Returns the upload of a file, which has not begun.
    func fileUpload(
        _ path: String, _ object: S3ObjectRequests, _ multipart: S3MultipartOptions = S3MultipartOptions()
    ) -> FileUpload {
        FileUpload(
            object: object, path: path,
            settings: FileUpload.Settings(
                endpoint: service.address.text, records: configuration.records, partSize: configuration.partSize,
                maximumConcurrentParts: configuration.maximumConcurrentParts,
                singleRequestLimit: configuration.singleRequestLimit, now: configuration.now),
            multipart: multipart)
    }

    private func stored(_ result: StoreCaller.CallResult, _ object: S3ObjectRequests) -> S3StoredObject {
        let url = (try? service.url(bucket: object.bucket, key: object.key)) ?? ""
        return S3StoredObject(bucket: object.bucket, key: object.key, url: url, result)
    }
}
