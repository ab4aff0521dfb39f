public import Waybill

extension DurableOSSUpload {
    /// Uploads the object. Parts that the store has from an earlier attempt are not sent again.
    ///
    /// The file is checked for changes before the first byte, before the last byte of each request, and before the
    /// upload is completed. Within the attempt, a wrong clock is corrected and credentials are renewed at most once.
    public func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        try await delivery.deliver(source) { () throws(StoreError) in try fileUpload(delivery) }
    }

    /// Queries the store for the parts, then for an object with the size and the CRC-64 of the file.
    ///
    /// - ``/Waybill/DeliveryVerdict/resume(_:)`` while the store lists the parts: the list ends with the completion, so
    ///   the object was not created.
    /// - ``/Waybill/DeliveryVerdict/delivered(_:)`` if the object exists. Any object with the same bytes counts,
    ///   regardless of the client that stored it; the response of a callback is lost.
    /// - ``/Waybill/DeliveryVerdict/absent`` if there is no object, or a different one: the upload can be repeated, and
    ///   leaves one object even if it is stored twice. In a bucket with versioning, it leaves two versions.
    /// - ``/Waybill/DeliveryVerdict/undetermined`` if an object of this size exists but the file has changed, so that
    ///   nothing can be compared. Also if the account has no permission to query, and a repeated upload would call the
    ///   callback twice or fail because of its own first request (``OSSObjectOptions/forbidsOverwrite``).
    ///
    /// The file is read only if an object of its size exists and the checksums of the parts are not all known.
    public func verify(_ delivery: Delivery) async throws(UploadError) -> DeliveryVerdict {
        try await delivery.verify(source, isRepeatable: options.callback == nil && !options.forbidsOverwrite) {
            () throws(StoreError) in try fileUpload(delivery)
        }
    }

    private func fileUpload(_ delivery: Delivery) throws(StoreError) -> FileUpload {
        let configuration = try sending.configuration(delivery, isInParts: isInParts)
        let client = try AliyunOSSClient(
            configuration: configuration, credentials: delivery.credentials.storeAccount(credential, of: .oss),
            session: delivery.session, clock: delivery.clock(of: sending.endpoint, configuration.now))
        return client.fileUpload(source.path, to: key, in: bucket, options)
    }
}
