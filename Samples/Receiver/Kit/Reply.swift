import FlyingFox
import Foundation
import WaybillMultipart

/// A response of the backend in an envelope, as business systems use it: an HTTP status for the transport, a `RETCODE`
/// for the application.
struct Reply {
    let status: HTTPStatusCode
    private let envelope: Envelope

    private struct Envelope: Encodable {
        let RETCODE: String
        let RETMSG: String
        let DATA: Content?
    }

    private struct Content: Encodable {
        let FIELDS: [FormIntake.Field]
        let FILES: [File]
    }

    private struct File: Encodable {
        let name: String
        let fileName: String
        let type: String
        let bytes: Int
        let sha256: String
        let width: Int?
        let height: Int?
    }

    private init(_ status: HTTPStatusCode, _ code: String, _ message: String, _ data: Content? = nil) {
        self.status = status
        envelope = Envelope(RETCODE: code, RETMSG: message, DATA: data)
    }

    /// All files are stored.
    static func accepted(_ form: FormIntake) -> Reply {
        let files = form.files.map { file in
            File(
                name: file.name, fileName: file.fileName, type: file.type, bytes: file.byteCount, sha256: file.sha256,
                width: file.size?.width, height: file.size?.height)
        }
        return Reply(.ok, "000000", "stored", Content(FIELDS: form.publicFields, FILES: files))
    }

    /// A rejection with HTTP status 200, which clients must not treat as success.
    static let wrongToken = Reply(.ok, "100001", "The token is invalid.")

    static func malformed(_ error: any Error) -> Reply { Reply(.badRequest, "100002", "\(error)") }

    /// The form is malformed or exceeds a limit of the parser.
    static func rejected(_ error: BodyError) -> Reply {
        error.responseStatus == 413 ? Reply(.payloadTooLarge, "100003", error.message) : malformed(error)
    }

    static func tooLarge(limit: Int) -> Reply {
        Reply(.payloadTooLarge, "100003", "The request is larger than \(limit) bytes. Send less.")
    }

    static func notStored(_ error: ReceiverError) -> Reply {
        Reply(.internalServerError, "100004", error.description)
    }

    func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(envelope)
    }

    /// The response contains names of the client, so browsers must not sniff another content type.
    static let headers: HTTPHeaders = [
        .contentType: "application/json", HTTPHeader("X-Content-Type-Options"): "nosniff",
    ]

    /// The readable message.
    var message: String { envelope.RETMSG }

    func response() throws -> HTTPResponse {
        HTTPResponse(statusCode: status, headers: Self.headers, body: try json())
    }
}
