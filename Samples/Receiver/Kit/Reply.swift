import FlyingFox
import Foundation
import WaybillMultipart

/// What the backend answers, in the envelope that business systems like: an HTTP status for the transport, a
/// `RETCODE` for the business.
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

    /// All is stored.
    static func accepted(_ form: FormIntake) -> Reply {
        let files = form.files.map { file in
            File(
                name: file.name, fileName: file.fileName, type: file.type, bytes: file.byteCount, sha256: file.sha256,
                width: file.size?.width, height: file.size?.height)
        }
        return Reply(.ok, "000000", "stored", Content(FIELDS: form.publicFields, FILES: files))
    }

    /// The business says no, HTTP says yes: what a client must not take for success.
    static let wrongToken = Reply(.ok, "100001", "the token is not valid")

    static func malformed(_ error: any Error) -> Reply { Reply(.badRequest, "100002", "\(error)") }

    /// The form breaks a rule, or a limit of the parser.
    static func refused(_ error: BodyError) -> Reply {
        error.responseStatus == 413 ? Reply(.payloadTooLarge, "100003", error.message) : malformed(error)
    }

    static func tooLarge(limit: Int) -> Reply {
        Reply(.payloadTooLarge, "100003", "a request may have \(limit) bytes and no more")
    }

    static func notStored(_ error: ReceiverError) -> Reply {
        Reply(.internalServerError, "100004", error.description)
    }

    func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(envelope)
    }

    /// Names that clients chose stand in the answer, so it must not be taken for anything but JSON.
    static let headers: HTTPHeaders = [
        .contentType: "application/json", HTTPHeader("X-Content-Type-Options"): "nosniff",
    ]

    /// What it says to a person.
    var message: String { envelope.RETMSG }

    func response() throws -> HTTPResponse {
        HTTPResponse(statusCode: status, headers: Self.headers, body: try json())
    }
}
