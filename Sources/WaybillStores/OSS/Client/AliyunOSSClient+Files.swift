import WaybillCore

extension AliyunOSSClient {
    /// Stores a file, in parts if it is large, and waits for the object.
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

    /// Starts to store a file, in parts if it is large, and returns the handle at once.
    ///
    /// A large file's progress is written down (``RecordFolder``), so that the same call, after a failure, a cancel or a kill,
    /// in this process or another, goes on: parts that the store lists are not sent again. A part that was on its way is sent
    /// anew. A record of a file that has changed, or that the store no longer knows, is thrown away, and
    /// ``OSSStoredObject/beginning`` says so.
    ///
    /// The file is looked at before each part and before the end. If it changed, the upload ends with
    /// ``StoreError/Code/sourceChanged``, and the object does not come to be.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - key: The key.
    ///   - bucket: The bucket; `nil` for the client's.
    ///   - options: Type, metadata, who may read, callback.
    ///   - multipart: Size and number of the parts.
    /// - Returns: The handle.
    @discardableResult
    public func startUpload(
        file path: String, to key: String, in bucket: String? = nil, options: OSSObjectOptions = OSSObjectOptions(),
        multipart: OSSMultipartOptions = OSSMultipartOptions()
    ) -> ObjectUpload<OSSStoredObject> {
        ObjectUpload { run throws(StoreError) in
            try await OSSFileUpload(
                client: self, path: path, bucket: self.bucket(bucket), key: key, options: options, multipart: multipart
            ).go(run)
        }
    }

    /// Throws away an upload that could be resumed: its record, and what the store has of it. One that nobody began is no
    /// error.
    ///
    /// - Throws: ``StoreError``; ``StoreError/Code/recordInUse`` while it is under way.
    public func abandonUpload(
        file path: String, to key: String, in bucket: String? = nil
    ) async throws(StoreError) {
        try await ObjectUpload { run throws(StoreError) in
            try await OSSFileUpload(
                client: self, path: path, bucket: self.bucket(bucket), key: key, options: OSSObjectOptions(),
                multipart: OSSMultipartOptions()
            ).forget(run)
        }.value
    }
}
