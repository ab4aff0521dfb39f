public import HTTPTypes
import WaybillCore
import WaybillMultipart

/// A small request to a backend that can be persisted: the first or the last step of a ``DurableTicketedUpload``.
///
/// ```swift
/// let confirm = try DurableRequest(
///     .post, "https://backend.example/files/{ticket:/data/id}/confirm", body: #"{"etag": "{header:etag}"}"#,
///     credential: .bearer(named: "backend"), idempotency: .honoured(window: .seconds(86_400)))
/// ```
///
/// In a final request, these placeholders in the URL, in header values and in the body are replaced:
///
/// | placeholder | value |
/// | --- | --- |
/// | `{ticket:POINTER}` | the value at a JSON pointer (RFC 6901) in the response with the ticket |
/// | `{stored:POINTER}` | the value at a JSON pointer in the response of the store |
/// | `{header:NAME}` | the value of a header field in the response of the store |
///
/// A value is encoded for its position: percent-encoded in a URL or a form (`application/x-www-form-urlencoded`),
/// escaped in a JSON string.
public struct DurableRequest: Codable, Sendable {
    var target: DurableTarget
    private let body: String
    private let contentType: String

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - location: An absolute URL.
    ///   - headers: Header fields without credentials.
    ///   - body: The body; empty for none.
    ///   - contentType: The content type of the body.
    ///   - credential: The named credential of the request.
    ///   - idempotency: The server's support for idempotency keys. It decides whether a final request with a lost
    ///     response is repeated. A request for a ticket is always repeated.
    /// - Throws: ``UploadError/Code/invalidURL``, or ``UploadError/Code/notDurable`` for a URL or header field with a
    ///   credential.
    public init(
        _ method: HTTPRequest.Method = .post, _ location: some UploadLocation, headers: HTTPFields = [:],
        body: String = "", contentType: String = "application/json", credential: DurableCredential? = nil,
        idempotency: Idempotency = .ignored
    ) throws(UploadError) {
        target = try DurableTarget(
            method, location, headers: headers, credential: credential, idempotency: idempotency)
        self.body = body
        self.contentType = contentType
    }

    /// Sends the request once, with an `Idempotency-Key` also if its method is idempotent.
    ///
    /// - Parameters:
    ///   - delivery: The context.
    ///   - values: The values of the placeholders.
    ///   - keySuffix: A text that is appended to the idempotency key of the delivery.
    /// - Returns: The response.
    /// - Throws: ``UploadError``.
    func send(
        _ delivery: Delivery, values: [String: String] = [:], keySuffix: String = ""
    ) async throws(UploadError) -> UploadResponse {
        var delivery = delivery
        delivery.onProgress = { _ in }
        delivery.idempotencyKey += keySuffix
        var target = target
        if target.headers[.idempotencyKey] == nil {
            target.headers[.idempotencyKey] = "\"\(delivery.idempotencyKey)\""
        }
        let body: UploadContent
        if values.isEmpty {
            body = .data(Array(self.body.utf8), contentType: contentType)
        } else {
            target.url = Placeholder.replacing(in: target.url) { URLText.component(values[$0] ?? "") }
            for index in target.headers.indices {
                let text = Placeholder.replacing(in: target.headers[index].value) { values[$0] ?? "" }
                guard HTTPField.isValidValue(text) else {
                    throw UploadError(
                        .invalidRequest,
                        "The header field \(target.headers[index].name) can't be sent: a value that was inserted "
                            + "contains characters that are not allowed.", phase: .preparing)
                }
                target.headers[index].value = text
            }
            let text = Placeholder.replacing(in: self.body) { encoded(values[$0] ?? "") }
            body = .data(Array(text.utf8), contentType: contentType)
        }
        return try await target.send(self.body.isEmpty ? .empty : body, delivery)
    }

    private func encoded(_ value: String) -> String {
        let type = contentType.lowercased()
        if type.hasPrefix("application/x-www-form-urlencoded") { return URLText.component(value) }
        guard type.contains("json") else { return value }
        // Bytewise: a combining mark after the quotation mark would form another Character.
        return String(Substring(JSONText.quoted(value).utf8.dropFirst().dropLast()))
    }

    /// Checks the placeholders.
    ///
    /// - Throws: ``UploadError/Code/invalidRequest``.
    func checkPlaceholders() throws(UploadError) {
        for placeholder in placeholders { _ = try Placeholder(placeholder) }
        for text in [target.url, body] + target.headers.map(\.value) where Placeholder.isIncomplete(text) {
            throw UploadError(
                .invalidRequest,
                "A placeholder is incomplete. Close it with \"}\"; in a URL, use ASCII letters and digits in its name.",
                phase: .waiting)
        }
    }

    /// The placeholders without their braces.
    private var placeholders: [String] {
        ([target.url, body] + target.headers.map(\.value)).flatMap { Placeholder.all(in: $0) }
    }

    /// Returns the values of the placeholders for a ticket, or for the response of the store.
    func values(ticket: UploadTicket) throws(UploadError) -> [String: String] {
        var values: [String: String] = [:]
        for text in placeholders {
            if case .ticket(let pointer) = try Placeholder(text) { values[text] = try ticket.value(at: pointer) }
        }
        return values
    }

    /// Returns the values of the placeholders for the response of the store.
    func values(stored response: UploadResponse) throws(UploadError) -> [String: String] {
        var values: [String: String] = [:]
        for text in placeholders {
            switch try Placeholder(text) {
            case .ticket: break
            case .stored(let pointer): values[text] = try TicketResponse(response).required(pointer)
            case .header(let name):
                guard let value = response.headers[name] else {
                    throw UploadError(
                        .decodingFailed, "The response of the store (\(response)) has no header field \(name).",
                        phase: .preparing, response: UploadResponse(status: response.status))
                }
                values[text] = value
            }
        }
        return values
    }
}

/// A position in a final request at which a value is inserted.
private enum Placeholder {
    case ticket(String)
    case stored(String)
    case header(HTTPField.Name)

    init(_ text: String) throws(UploadError) {
        let argument = String(text.dropFirst("ticket:".count))
        switch text.prefix("ticket:".count) {
        case "header:":
            guard let name = HTTPField.Name(argument) else {
                throw UploadError(
                    .invalidRequest, "The placeholder \(quoted("{\(text)}")) has an invalid header field name.",
                    phase: .waiting)
            }
            self = .header(name)
        case "stored:":
            _ = try JSONPointer(argument)
            self = .stored(argument)
        default:
            _ = try JSONPointer(argument)
            self = .ticket(argument)
        }
    }

    static func all(in text: String) -> [String] {
        var found: [String] = []
        _ = replacing(in: text) { placeholder in
            found.append(placeholder)
            return ""
        }
        return found
    }

    /// Whether the text contains the beginning of a placeholder that is never replaced.
    static func isIncomplete(_ text: String) -> Bool {
        let rest = replacing(in: text) { _ in "" }
        return ["ticket:", "stored:", "header:"].contains { rest.contains("{" + $0) || rest.contains("%7B" + $0) }
    }

    /// Returns the text with each placeholder replaced. The braces of a URL were percent-encoded.
    static func replacing(in text: String, _ value: (String) -> String) -> String {
        let pattern = #/(?:\{|%7B)((?:ticket|stored|header):[^{}%]*)(?:\}|%7D)/#
        return text.replacing(pattern) { value(String($0.1)) }
    }
}
