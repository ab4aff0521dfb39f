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
                members: [
                    // JSON numbers are too imprecise for a 64-bit checksum.
                    "etag": object.etag, "crc64": object.checksum.map { "\($0)" }, "requestID": object.requestID,
                    "resumedParts": Self.resumedParts(object.beginning), "wasFoundStored": object.wasFoundStored,
                ], note: Self.note(object))
        }
    }

    private static func resumedParts(_ beginning: OSSStoredObject.Beginning) -> Int {
        if case .resumed(let parts) = beginning { return parts }
        return 0
    }

    private static func note(_ object: OSSStoredObject) -> String? {
        if object.wasFoundStored { return "the response was lost, but the object was found in the store" }
        switch object.beginning {
        case .whole, .fresh: return nil
        case .resumed(let parts): return parts == 1 ? "resumed after 1 part" : "resumed after \(parts) parts"
        case .afterDiscarding(let reason): return "restarted: \(reason)"
        }
    }
}
