import FoundationEssentials
import HTTPTypes
import WaybillCore
import WaybillMultipart

/// A permission to upload one object directly to a store, as returned by a backend: a URL that is valid for a short
/// time, with the method, the header fields and the form fields to send.
///
/// The URL is a secret: it is contained in no description, log line or error.
public struct UploadTicket: Sendable {
    let url: Secret
    let method: HTTPRequest.Method
    let headers: HTTPFields
    /// The fields of a form; `nil` if the file is the whole body.
    let fields: [(name: String, value: Secret)]?
    /// The time by the stopwatch of the upload from which the ticket is not used any more.
    let deadline: Duration?
    private let response: TicketResponse

    /// Reads a ticket from the response of the backend.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - format: The positions of the values.
    ///   - requestedAt: The time by the stopwatch at which the ticket was requested.
    ///   - now: The local time, used without a `Date` in the response.
    /// - Throws: ``UploadError/Code/decodingFailed``.
    init(
        _ response: UploadResponse, _ format: TicketFormat, requestedAt: Duration, now: Date = Date()
    ) throws(UploadError) {
        let values = try TicketResponse(response)
        let url = try values.required(format.url)
        do throws(UploadError) {
            _ = try RequestTarget(try URLText.absolute(url, base: nil))
        } catch {
            throw values.failure(format.url, "is not an absolute http or https URL")
        }
        self.url = .secret(url)
        fields = try format.fields.map { pointer throws(UploadError) in try values.fields(pointer) }
        method =
            try format.method.map { pointer throws(UploadError) in try values.method(pointer) }
            ?? (fields == nil ? .put : .post)
        headers = try format.headers.map { pointer throws(UploadError) in try values.headers(pointer) } ?? [:]
        let seconds = try values.validity(format, now: now)
        deadline = seconds.map { requestedAt + .seconds($0 - Double(format.marginSeconds)) }
        self.response = values
    }

    /// Returns a string, number or Boolean value of the response as text, for example the object key.
    ///
    /// - Parameter pointer: A JSON pointer (RFC 6901).
    /// - Returns: The text, which is not empty.
    /// - Throws: ``UploadError`` if the pointer is invalid, or the response has no such value.
    public func value(at pointer: String) throws(UploadError) -> String { try response.required(pointer) }

    /// Whether another ticket is the same, so that it can't be valid for longer.
    func isEqual(to other: UploadTicket) -> Bool {
        url == other.url && headers == other.headers
            && (fields ?? []).elementsEqual(other.fields ?? []) { $0.name == $1.name && $0.value == $1.value }
    }

    /// A hash of the URL without its query and of the form's field `key`: equal for all tickets for one object.
    var object: String {
        var hash = BodyFingerprint()
        hash.add(Array(url.value.utf8.prefix { $0 != UInt8(ascii: "?") }))
        if let key = fields?.first(where: { $0.name == "key" }) { hash.add(key.value.value) }
        return "\(hash)"
    }

    /// Whether a second request with a ticket for the same object has no further effect.
    func isRepeatable(_ format: TicketFormat) -> Bool { method.isIdempotent || format.isRepeatable }
}

extension UploadTicket: CustomStringConvertible, CustomReflectable {
    /// The method, and the origin of the URL.
    public var description: String {
        let target = try? RequestTarget(url.value)
        return "\(method) \(target.map { "\($0.isSecure ? "https" : "http")://\($0.hostAndPort)/" } ?? "")"
            + Secret.placeholder
    }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["ticket": description]) }
}

/// A JSON response whose values are read by pointer. Errors name the pointer and the response, but none of its values.
struct TicketResponse: Sendable {
    private let response: UploadResponse
    private let document: JSONDocument

    /// - Throws: ``UploadError/Code/decodingFailed`` if the response is not JSON.
    init(_ response: UploadResponse) throws(UploadError) {
        self.response = response
        guard let document = JSONDocument(response.body) else {
            throw Self.failure(response, "is not JSON. Check the URL of the request.")
        }
        self.document = document
    }

    /// Returns the text at a pointer.
    func required(_ pointer: String, isExact: Bool = true) throws(UploadError) -> String {
        let value = try find(pointer)
        guard let text = isExact ? value?.exactText : value?.text, !text.isEmpty else {
            throw Self.failure(
                response,
                "has no string or exact number at the JSON pointer \(quoted(pointer)). Correct the pointer or the "
                    + "response: send a number beyond 64 bits as a string.")
        }
        return text
    }

    func failure(_ pointer: String, _ what: String) -> UploadError {
        Self.failure(
            response,
            "has a value at the JSON pointer \(quoted(pointer)) that \(what). Correct the pointer or the response.")
    }

    private func find(_ pointer: String) throws(UploadError) -> JSONDocument? {
        try JSONPointer(pointer).find(in: document)
    }

    /// The response without its body and header fields: an outbox persists the response of an error, and the body may
    /// contain the URL of the ticket.
    private static func failure(_ response: UploadResponse, _ what: String) -> UploadError {
        UploadError(
            .decodingFailed, "The response (\(response)) \(what)", phase: .preparing,
            response: UploadResponse(status: response.status))
    }
}

extension TicketResponse {
    /// Returns the members of an object with their texts, sorted by name; a member may have several.
    private func members(_ pointer: String) throws(UploadError) -> [(name: String, values: [String])] {
        let found: [String: JSONDocument]
        switch try find(pointer) {
        case .object(let members)?: found = members
        case nil, .null?: return []
        default: throw failure(pointer, "is not an object")
        }
        var result: [(name: String, values: [String])] = []
        for (name, value) in found.sorted(by: { $0.key < $1.key }) {
            let elements = if case .array(let elements) = value { elements } else { [value] }
            let texts = elements.map(\.exactText)
            guard !texts.contains(nil) else {
                throw failure(pointer, "has a member \(quoted(name)) that is neither a string nor an exact number")
            }
            result.append((name, texts.compactMap { $0 }))
        }
        return result
    }

    fileprivate func fields(_ pointer: String) throws(UploadError) -> [(name: String, value: Secret)] {
        guard case .object? = try find(pointer) else { throw failure(pointer, "is not an object") }
        return try members(pointer).flatMap { name, values in values.map { (name, .secret($0)) } }
    }

    fileprivate func headers(_ pointer: String) throws(UploadError) -> HTTPFields {
        var headers = HTTPFields()
        for (text, values) in try members(pointer) {
            guard let name = HTTPField.Name(text), values.allSatisfy({ HTTPField.isValidValue($0) }) else {
                throw failure(pointer, "has a member \(quoted(text)) that is not a valid header field")
            }
            guard !TransferRequest.reservedFields.contains(name) else { continue }
            for value in values { headers.append(HTTPField(name: name, value: value)) }
        }
        return headers
    }

    fileprivate func method(_ pointer: String) throws(UploadError) -> HTTPRequest.Method {
        guard let method = HTTPRequest.Method(rawValue: try required(pointer).uppercased()) else {
            throw failure(pointer, "is not a valid HTTP method")
        }
        return method
    }

    /// Returns the number of seconds for which the ticket is valid; `nil` if it is unknown.
    fileprivate func validity(_ format: TicketFormat, now: Date) throws(UploadError) -> Double? {
        var seconds: Double?
        if let pointer = format.validFor {
            guard let number = Double(try required(pointer, isExact: false)), number.isFinite else {
                throw failure(pointer, "is not a number of seconds")
            }
            seconds = number
        }
        if let pointer = format.expiresAt {
            guard let time = Self.time(try required(pointer, isExact: false)) else {
                throw failure(pointer, "is not a time")
            }
            let date = response.headers[.date].flatMap { HTTPDate($0) }.map { Double($0.seconds) }
            let rest = time - (date ?? now.timeIntervalSince1970)
            seconds = min(seconds ?? rest, rest)
        }
        // Clamp to thirty years: Duration arithmetic would overflow.
        return seconds.map { min(max($0, -1e9), 1e9) }
    }

    /// Parses a time into seconds since 1970.
    private static func time(_ text: String) -> Double? {
        if let number = Double(text) {
            // A time in seconds exceeds this bound in the year 5138, and one in milliseconds since 1973.
            guard number.isFinite else { return nil }
            return number < 100_000_000_000 ? number : number / 1_000
        }
        if let date = HTTPDate(text) { return Double(date.seconds) }
        for hasFraction in [false, true] {
            let style = Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction)
            if let date = try? Date(text, strategy: style) { return date.timeIntervalSince1970 }
        }
        return nil
    }
}
