import Waybill
import WaybillStores

/// A bucket of Aliyun OSS.
struct OSSTarget: PutTarget {
    private let client: AliyunOSSClient
    private let bucket: String
    private let options: OSSObjectOptions
    private let multipart: OSSMultipartOptions

    init(
        bucket: String, configuration: AliyunOSSClient.Configuration, session: UploadSession,
        options: OSSObjectOptions, multipart: OSSMultipartOptions
    ) throws(StoreError) {
        client = try AliyunOSSClient(configuration: configuration, credentials: .environment(), session: session)
        (self.bucket, self.options, self.multipart) = (bucket, options, multipart)
    }

    func location(of key: String) -> String { "oss://\(bucket)/\(key)" }

    func check(key: String) throws(StoreError) {
        try OSSName.checkBucket(bucket)
        try OSSName.checkKey(key)
    }

    func start(_ file: PutFile) -> PutTransfer {
        var multipart = multipart
        // The copy of a pipe is removed when the process ends, so its upload can't be resumed.
        if file.isPipe { multipart.resumes = false }
        let upload = client.startUpload(
            file: file.source, to: file.key, in: bucket, options: options, multipart: multipart)
        return PutTransfer(upload, size: file.size) { object in
            PutStored(
                url: object.url,
                // JSON numbers are too imprecise for a 64-bit checksum.
                members: [
                    "etag": object.etag, "crc64": object.checksum.map { "\($0)" }, "requestID": object.requestID,
                ], object.beginning, wasFoundStored: object.wasFoundStored, wasSkipped: object.wasSkipped)
        }
    }
}
