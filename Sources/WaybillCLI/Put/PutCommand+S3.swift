import HTTPTypes
import Waybill
import WaybillStores

extension PutCommand {
    /// Returns the configuration of the S3 client.
    func s3Configuration(_ options: UploadOptions) throws(StoreError) -> S3Client.Configuration {
        var configuration = try S3Location(
            profile: store.profile, endpoint: store.endpoint, region: store.region
        ).configuration
        configuration.checksum = try store.checksum.map { (name) throws(StoreError) in
            try Self.validated(name, S3Checksum(rawValue: name), S3Checksum.allCases.map(\.rawValue), "--checksum")
        }
        configuration.allowsUnencrypted = store.allowsHTTP
        configuration.transfer = Self.storeTransfer(options)
        if limits.retries != nil { configuration.retry = options.retry }
        if let path = store.records { configuration.records = RecordDirectory(path: path) }
        return configuration
    }

    /// Returns the options of every object.
    func s3ObjectOptions(_ headers: HTTPFields) throws(StoreError) -> S3ObjectOptions {
        var options = S3ObjectOptions()
        options.headers = headers
        options.contentType = object.contentType ?? headers[.contentType]
        options.headers[.contentType] = nil
        if object.forbidsOverwrite { options.condition = .isAbsent }
        options.metadataPolicy = .percentEncode
        options.metadata = try object.metadataFields()
        options.acl = object.access
        options.storageClass = object.storageClass
        return options
    }
}
