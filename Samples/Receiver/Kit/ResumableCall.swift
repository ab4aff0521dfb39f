import FlyingFox
import Foundation

/// A request of a resumable upload. Fields with an invalid value are ignored, as the draft requires.
struct ResumableCall {
    static let mediaType = "application/partial-upload"

    let request: HTTPRequest
    /// The name of the upload; empty before its creation.
    var name: String
    /// The number of stored bytes; `nil` if there is no upload.
    var offset: Int?
    /// The time until the upload is removed; `nil` for a new one.
    var secondsLeft: Int?

    init(_ request: HTTPRequest) {
        self.request = request
        name = String(request.path.dropFirst("/upload/".count))
    }

    private var version: Int? { integer(.interopVersion) }
    var isOfProtocol: Bool { version == 8 || version == 6 }
    /// Whether the request is of interop version 6.
    var isOld: Bool { version == 6 }

    /// Whether the upload ends with the content of the request; `nil` if the field is missing or invalid.
    var completes: Bool? { ["?1": true, "?0": false][request.headers[.uploadComplete] ?? ""] }
    /// The length of the whole form.
    var length: Int? { integer(.uploadLength) }
    /// The length of the content; `nil` if it is chunked.
    var contentLength: Int? { request.bodySequence.count }

    /// Parses a non-negative Integer Item (RFC 9651 section 3.3.1) without parameters.
    func integer(_ field: HTTPHeader) -> Int? {
        guard let text = request.headers[field], text.wholeMatch(of: /[0-9]{1,15}/) != nil else { return nil }
        return Int(text)
    }
}

/// A rejection by the rules of the draft.
struct Rejection: Error {
    let status: HTTPStatusCode
    var fields: HTTPHeaders
    var text: String

    init(_ status: HTTPStatusCode, fields: HTTPHeaders = [:], text: String = "") {
        self.status = status
        self.fields = fields
        self.text = text
    }

    /// The length of the form differs from an earlier one, or from the length of the content.
    static let inconsistentLength = problem(
        .badRequest, "inconsistent-upload-length", "inconsistent length values for upload")

    static func mismatch(expected: Int, provided: Int) -> Rejection {
        problem(
            .conflict, "mismatching-upload-offset", "offset from request does not match offset of resource",
            #","expected-offset":\#(expected),"provided-offset":\#(provided)"#)
    }

    /// Creates a rejection with a problem type of the draft (RFC 9457).
    private static func problem(
        _ status: HTTPStatusCode, _ type: String, _ title: String, _ members: String = ""
    ) -> Rejection {
        let type = "https://iana.org/assignments/http-problem-types#\(type)"
        return Rejection(
            status, fields: [.contentType: "application/problem+json"],
            text: #"{"type":"\#(type)","title":"\#(title)"\#(members)}"#)
    }
}

/// Closes the connection without a response: FlyingFox does so if a WebSocket handler throws.
struct Hangup: Error, WSHandler {
    func makeFrames(for client: AsyncThrowingStream<WSFrame, any Error>) async throws -> AsyncStream<WSFrame> {
        throw self
    }
}

extension HTTPHeader {
    static let allow = HTTPHeader("Allow")
    static let acceptPatch = HTTPHeader("Accept-Patch")
    static let interopVersion = HTTPHeader("Upload-Draft-Interop-Version")
    static let retryAfter = HTTPHeader("Retry-After")
    static let uploadComplete = HTTPHeader("Upload-Complete")
    static let uploadLength = HTTPHeader("Upload-Length")
    static let uploadLimit = HTTPHeader("Upload-Limit")
    static let uploadOffset = HTTPHeader("Upload-Offset")
}
