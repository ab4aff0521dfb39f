import Waybill
import WaybillStores

/// The destination of files, which is the last argument of the command line.
///
/// To support another kind of store, add a case here, its scheme in ``init(_:)``, a ``PutTarget``, and its options in
/// ``PutOptionTable``.
enum PutDestination: Sendable, Hashable {
    /// A bucket of Aliyun OSS, and a key or key prefix.
    case oss(bucket: String, key: String)
    /// A bucket of Qiniu, and a key or key prefix.
    case qiniu(bucket: String, key: String)
    /// A bucket of a store with the protocol of S3, and a key or key prefix.
    case s3(bucket: String, key: String)
    /// A presigned URL, for one file.
    case presigned(url: String)
    /// A tus server.
    case tus(url: String)

    init(_ text: String) throws(CommandFailure) {
        let scheme = text.utf8.firstIndex(of: UInt8(ascii: ":")).map { text[..<$0].lowercased() }
        switch scheme {
        case "oss":
            let (bucket, key) = try Self.bucketAndKey(of: text)
            self = .oss(bucket: bucket, key: key)
        case "qiniu":
            let (bucket, key) = try Self.bucketAndKey(of: text)
            self = .qiniu(bucket: bucket, key: key)
        case "s3":
            let (bucket, key) = try Self.bucketAndKey(of: text)
            self = .s3(bucket: bucket, key: key)
        case "tus+https", "tus+http":
            self = .tus(url: String(text.dropFirst("tus+".count)))
        case "https", "http":
            self = .presigned(url: text)
        default:
            throw .usage(
                "The destination must be oss://bucket/key, qiniu://bucket/key, s3://bucket/key, tus+https://host/path, "
                    + "or a presigned https:// URL; got \"\(Redaction.url(text))\"."
            )
        }
    }

    /// The kind of the destination.
    var store: PutStore {
        switch self {
        case .oss: .oss
        case .qiniu: .qiniu
        case .s3: .s3
        case .presigned: .presigned
        case .tus: .tus
        }
    }

    /// The key or key prefix; empty if the destination is a single object.
    var key: String {
        switch self {
        case .oss(_, let key), .qiniu(_, let key), .s3(_, let key): key
        case .presigned, .tus: ""
        }
    }

    /// Whether the destination accepts only one file.
    var isOneFile: Bool {
        if case .presigned = self { return true }
        return false
    }

    /// Parses `scheme://bucket/key`. The key is literal, without percent-encoding.
    static func bucketAndKey(of text: String) throws(CommandFailure) -> (bucket: String, key: String) {
        let pieces = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 3, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard pieces.count >= 3, pieces[1].isEmpty, !pieces[2].isEmpty else {
            throw .usage("\(Redaction.quoted(text)) has no bucket. Write \(pieces[0])//bucket/key.")
        }
        return (pieces[2], pieces.count > 3 ? pieces[3] : "")
    }
}
