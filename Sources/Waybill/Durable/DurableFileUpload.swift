public import HTTPTypes
import WaybillCore
import WaybillMultipart

/// A file as the whole body of a request that can be written down: a `PUT` to a place of its own, for example.
///
/// ```swift
/// let upload = try await DurableFileUpload(path: "scan.pdf", to: "https://store.example/scans/1.pdf")
/// ```
public struct DurableFileUpload: DurableUpload {
    /// `file`.
    public static let kind = "file"

    /// Where it goes.
    public let target: DurableTarget
    /// The value of `Content-Type`; `nil` for none of the file's own.
    public let contentType: String?
    private var file: DurableFile

    /// Describes the upload of a file, which must be there.
    ///
    /// Without a content type, the one that belongs to the ending of the path is sent. With `sendsContentType` off there is
    /// none but what `headers` have: a presigned URL is often good only for a request without.
    ///
    /// - Throws: ``UploadError``: what is wrong with the request or the file.
    public init(
        path: String, contentType: String? = nil, to location: some UploadLocation, method: HTTPRequest.Method = .put,
        headers: HTTPFields = [:], credential: DurableCredential? = nil, idempotency: Idempotency = .ignored,
        sendsContentType: Bool = true
    ) async throws(UploadError) {
        target = try DurableTarget(
            method, location, headers: headers, credential: credential, idempotency: idempotency)
        let body = try await Self.body(path, contentType)
        self.contentType = sendsContentType ? body.contentType : nil
        file = DurableFile(path: path)
        try await file.inspect()
    }

    /// The lane of its target.
    public var lane: DurableLane { target.lane }

    /// The file.
    public var files: [DurableFile] {
        get { [file] }
        set { if let first = newValue.first { file = first } }
    }

    /// Sends it once.
    public func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        let body = try await Self.body(file.path, contentType)
        try await file.check()
        return try await target.send(.body(TypedBody(body: body, contentType: contentType)), delivery)
    }

    /// ``DeliveryVerdict/absent`` where a second one does no harm, as with `PUT`, else ``DeliveryVerdict/cannotTell``.
    public func verify(_ delivery: Delivery) async throws(UploadError) -> DeliveryVerdict { target.verdict(delivery) }

    private static func body(_ path: String, _ contentType: String?) async throws(UploadError) -> FileBody {
        do throws(BodyError) {
            return try await FileBody.looking(at: path, contentType: contentType)
        } catch {
            throw UploadError(preparing: error)
        }
    }
}

/// A body with a content type of somebody's choice, which may be none.
private struct TypedBody: UploadBody {
    let body: FileBody
    let contentType: String?
    var length: Int64? { body.length }
    var isReplayable: Bool { body.isReplayable }

    func makeReader(wake: @escaping @Sendable () -> Void) throws -> any BodyReader { try body.makeReader(wake: wake) }
}

extension DurableFileUpload: CustomStringConvertible {
    /// Method, URL without query, and the file.
    public var description: String { "\(target.method) \(Redaction.url(target.url)) (\(file))" }
}
