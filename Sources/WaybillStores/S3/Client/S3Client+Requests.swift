extension S3Client: ObjectStore {
    /// The requests of S3.
    public var operations: ObjectOperations<S3ObjectOptions, S3StoredObject> { ObjectOperations(store: self) }

    var endpointText: String { service.address.text }
    var fieldPrefix: String { "x-amz-" }

    func requests(for key: String, in bucket: String, _ options: S3ObjectOptions) -> S3ObjectRequests {
        S3ObjectRequests(client: self, bucket: bucket, key: key, options: options)
    }

    func stored(
        _ result: StoreCaller.CallResult, of object: S3ObjectRequests, _ beginning: OSSStoredObject.Beginning
    ) -> S3StoredObject {
        let url = (try? service.url(bucket: object.bucket, key: object.key)) ?? ""
        return S3StoredObject(url: url, result, of: object, beginning)
    }
}
