public import FoundationEssentials
public import HTTPTypes
public import WaybillCore

/// The complete response of the server to an upload.
///
/// ```swift
/// struct Receipt: Decodable { let RETCODE: String }
/// let receipt = try response.decode(Receipt.self)
/// ```
public struct UploadResponse: Sendable {
    /// The status.
    public var status: HTTPResponse.Status
    /// The header fields.
    public var headers: HTTPFields
    /// The body, at most `TransferLimits.responseBody` bytes.
    public var body: [UInt8]
    /// Every attempt, with its reason. The last one received this response.
    public var attempts: [UploadAttempt]
    /// The redirects that were followed, in order. The response came from the target of the last one.
    public var redirects: [UploadRedirect] = []
    /// The timing of the last attempt.
    public var metrics: TransferMetrics

    /// Creates a response.
    public init(
        status: HTTPResponse.Status, headers: HTTPFields = [:], body: [UInt8] = [], attempts: [UploadAttempt] = [],
        metrics: TransferMetrics = TransferMetrics()
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.attempts = attempts
        self.metrics = metrics
    }

    /// The URL under which a tus server has stored the body; `nil` for any other upload.
    public var uploadURL: String? { attempts.last?.uploadURL }

    /// The body as text. Bytes that are not UTF-8 become U+FFFD.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// Decodes the body as JSON.
    ///
    /// - Throws: ``UploadError`` with the code ``UploadError/Code/decodingFailed``. Its cause is the decoder's error,
    ///   and its response is this one. The upload itself succeeded: do not send it again because of this error.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws(UploadError) -> Value {
        do {
            return try decoder.decode(type, from: Data(body))
        } catch {
            throw decodingFailure("can't be decoded as \(type)", cause: error)
        }
    }
}

extension UploadResponse: CustomStringConvertible {
    /// The status and the number of body bytes. Contains no header and no body, which may repeat data of the request.
    public var description: String { "\(status.code) \(status.reasonPhrase), \(body.count) bytes" }
}
