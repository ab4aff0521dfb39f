public import HTTPTypes
import WaybillCore
import WaybillMultipart

/// A persistable request with a file as its whole body, for example a `PUT` to its own URL.
///
/// ```swift
/// let upload = try await DurableFileUpload(path: "scan.pdf", to: "https://store.example/scans/1.pdf")
/// ```
public struct DurableFileUpload: DurableUpload {
    /// The string `file`.
    public static let kind = "file"

    /// The target of the upload.
    package private(set) var target: DurableTarget
    /// The value of `Content-Type`; `nil` to derive none from the file.
    public let contentType: String?
    private var file: DurableFile

    /// Creates the upload of an existing file.
    ///
    /// Without a content type, the type is derived from the file name extension. With `sendsContentType` off, only a
    /// type in `headers` is sent: a presigned URL is often valid only for a request without one. With a protocol in
    /// `resumption`, a large file continues after an interruption. `metadata` is that of a tus upload; by default
    /// `filename` and `filetype`, as in ``ResumeOptions/metadata``.
    ///
    /// - Throws: ``UploadError`` if the request or the file is invalid.
    public init(
        path: String, contentType: String? = nil, to location: some UploadLocation, method: HTTPRequest.Method = .put,
        headers: HTTPFields = [:], credential: DurableCredential? = nil, idempotency: Idempotency = .ignored,
        sendsContentType: Bool = true, resumption: ResumeProtocol? = nil, metadata: [String: String]? = nil
    ) async throws(UploadError) {
        target = try DurableTarget(
            method, location, headers: headers, credential: credential, idempotency: idempotency,
            resumption: resumption)
        let body = try await Self.body(path, contentType)
        self.contentType = sendsContentType ? body.contentType : nil
        file = DurableFile(path: path)
        if resumption != nil {
            // A queue may give its copy of the file another name.
            target.metadata = metadata ?? TusMetadata.pairs(path: path, type: self.contentType)
            _ = try TusMetadata.field(target.metadata ?? [:])
        }
        try await file.inspect()
    }

    /// The lane of its target.
    public var lane: DurableLane { target.lane }

    /// The file.
    public var files: [DurableFile] {
        get { [file] }
        set { if let first = newValue.first { file = first } }
    }

    /// Sends the file once.
    public func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        let body: any FingerprintedBody
        if let bytes = file.pending {
            body = DataBody(bytes)
        } else {
            body = try await Self.body(file.path, contentType)
        }
        try await file.check()
        return try await target.send(.body(TypedBody(body: body, contentType: contentType)), delivery)
    }

    /// Returns ``DeliveryVerdict/repeatable`` if a second request is safe, as with `PUT`, otherwise
    /// ``DeliveryVerdict/undetermined``.
    public func verify(_ delivery: Delivery) async throws(UploadError) -> DeliveryVerdict { target.verdict(delivery) }

    private static func body(_ path: String, _ contentType: String?) async throws(UploadError) -> FileBody {
        do throws(BodyError) {
            return try await FileBody.inspecting(path, contentType: contentType)
        } catch {
            throw UploadError(preparing: error)
        }
    }
}

/// A body with a given content type, which may be `nil`.
private struct TypedBody: FingerprintedBody {
    let body: any FingerprintedBody
    let contentType: String?
    var length: Int64? { body.length }
    var isReplayable: Bool { body.isReplayable }
    var fingerprint: BodyFingerprint? { body.fingerprint }

    func makeReader(wake: @escaping @Sendable () -> Void) throws -> any BodyReader { try body.makeReader(wake: wake) }

    func makeReader(for range: Range<Int64>, wake: @escaping @Sendable () -> Void) throws -> any BodyReader {
        try body.makeReader(for: range, wake: wake)
    }
}

extension DurableFileUpload: CustomStringConvertible {
    /// The method, the URL without query, and the file.
    public var description: String { "\(target.method) \(Redaction.url(target.url)) (\(file))" }
}
