public import FoundationEssentials
public import HTTPTypes
public import WaybillCore

/// The server's complete answer to an upload.
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
    /// Every attempt, with its reason; the last one brought this answer.
    public var attempts: [UploadAttempt]
    /// The redirects that were followed, in order; the answer came from where the last one led.
    public var redirects: [UploadRedirect] = []
    /// Where the time of the last attempt went.
    public var metrics: TransferMetrics

    /// Describes an answer.
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

    /// The body as text. Bytes that are not UTF-8 become U+FFFD.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// Reads the body as JSON.
    ///
    /// - Throws: ``UploadError`` with the code ``UploadError/Code/decodingFailed``; its cause is the decoder's error,
    ///   its response this one. The upload itself has succeeded: don't send it again for this.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws(UploadError) -> Value {
        do {
            return try decoder.decode(type, from: Data(body))
        } catch {
            throw decodingFailure("is not the JSON of \(type)", cause: error)
        }
    }
}

extension UploadResponse: CustomStringConvertible {
    /// The status and the number of bytes; no header and no byte of the body, which may hold what the request held.
    public var description: String { "\(status.code) \(status.reasonPhrase), \(body.count) bytes" }
}
