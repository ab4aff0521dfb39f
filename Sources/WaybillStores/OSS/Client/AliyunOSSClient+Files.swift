import WaybillCore

extension AliyunOSSClient {
    /// Uploads a file, in parts if it is large, and waits for the stored object.
    ///
    /// See ``startUpload(file:to:in:options:multipart:)``.
    ///
    /// - Throws: ``StoreError``.
    @discardableResult
    public func upload(
        file path: String, to key: String, in bucket: String? = nil, options: OSSObjectOptions = OSSObjectOptions(),
        multipart: OSSMultipartOptions = OSSMultipartOptions()
    ) async throws(StoreError) -> OSSStoredObject {
        try await startUpload(file: path, to: key, in: bucket, options: options, multipart: multipart).value
    }

    /// Starts uploading a file, in parts if it is large, and immediately returns the handle.
    ///
    /// The progress of a multipart upload is recorded on disk (``RecordDirectory``). After a failure, a cancellation or
    /// the end of the process, the same call resumes the upload, in this process or another: parts that the store lists
    /// are not sent again, and a part that was in flight is sent from its start. A record is discarded if the file has
    /// changed or if the store no longer knows the upload; ``OSSStoredObject/beginning`` reports this.
    ///
    /// The file is checked for changes before each part and before completion. If it has changed, the upload fails with
    /// ``StoreError/Code/sourceChanged``, and no object is created.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - key: The object key.
    ///   - bucket: The bucket, or `nil` for the bucket of the client's configuration.
    ///   - options: The content type, metadata, access control and callback of the object.
    ///   - multipart: The size and concurrency of the parts.
    /// - Returns: The handle of the upload.
    @discardableResult
    public func startUpload(
        file path: String, to key: String, in bucket: String? = nil, options: OSSObjectOptions = OSSObjectOptions(),
        multipart: OSSMultipartOptions = OSSMultipartOptions()
    ) -> ObjectUpload<OSSStoredObject> {
        ObjectUpload { run throws(StoreError) in
            try await self.storedObject(path, to: key, in: self.bucket(bucket), options, multipart, run)
        }
    }

    /// Discards a resumable upload: its local record, and the parts that the store has. Does nothing if there is no
    /// such upload.
    ///
    /// - Throws: ``StoreError``, with ``StoreError/Code/recordInUse`` while the upload is running.
    public func abandonUpload(
        file path: String, to key: String, in bucket: String? = nil
    ) async throws(StoreError) {
        try await ObjectUpload { run throws(StoreError) in
            try await self.fileUpload(path, to: key, in: self.bucket(bucket)).forget(run)
        }.value
    }
}
