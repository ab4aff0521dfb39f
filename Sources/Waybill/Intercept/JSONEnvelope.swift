import FoundationEssentials

/// An interceptor that reads the envelope in which many servers wrap every response, regardless of the status:
/// `{"code": 0, "message": "ok", "data": {…}}`.
///
/// ```swift
/// var envelope = JSONEnvelope()
/// envelope.code = "head.retCode"                       // {"head": {"retCode": "000000", "retMsg": "…"}, "body": …}
/// envelope.message = "head.retMsg"
/// envelope.successCodes = ["000000"]
/// envelope.credentialExpiredCodes = ["401", "TOKEN_EXPIRED"]
/// configuration.interceptors.append(envelope)
/// ```
///
/// A number and its text are the same code: `0` and `"0"`. `true` and `false` are codes, too. A response without such
/// an envelope is rejected unless ``acceptsOthers`` is set; the message says what is missing.
///
/// A response larger than ``maximumBytes`` is rejected without being parsed. The cost is one pass over the JSON.
public struct JSONEnvelope: UploadInterceptor, Hashable {
    /// The path of the code: keys separated by dots, with a number as an array index.
    public var code = "code"
    /// The path of the message. It may be missing in the response.
    public var message = "message"
    /// The codes that mean success.
    public var successCodes: Set<String> = ["0", "200", "true"]
    /// The codes that mean that the credential has expired: it is refreshed and the upload is sent again.
    public var credentialExpiredCodes: Set<String> = []
    /// The codes that ask for a retry, like status 503.
    public var retryCodes: Set<String> = []
    /// Whether a response that is not JSON, or has no code at the path, is accepted.
    public var acceptsOthers = false
    /// The maximum size of a response that is parsed.
    public var maximumBytes = 1 << 20

    /// Creates an envelope with the defaults: `code` 0, 200 or true means success, and `message` is the message.
    public init() {}

    /// Creates an envelope with the given paths and codes.
    public init(code: String, message: String = "message", successCodes: Set<String>) {
        self.code = code
        self.message = message
        self.successCodes = successCodes
    }

    /// Returns the verdict on a response.
    public func judge(_ response: UploadResponse) async throws -> ResponseVerdict { verdict(on: response.body) }

    /// Returns the verdict on the body of a response.
    public func verdict(on body: [UInt8]) -> ResponseVerdict {
        guard body.count <= maximumBytes else {
            return .rejected(
                message: "The response of \(body.count) bytes exceeds the envelope limit of \(maximumBytes) bytes.")
        }
        let found: JSONScalar?
        do {
            found = try JSONScalar.find(code, in: body)
        } catch {
            return acceptsOthers ? .accepted : .rejected(message: "The response is not JSON.")
        }
        guard let found else {
            return acceptsOthers ? .accepted : .rejected(message: "The response has no \"\(code)\".")
        }
        let text = found.description
        guard !successCodes.contains(text) else { return .accepted }
        let messageText = (try? JSONScalar.find(message, in: body))?.description ?? ""
        if credentialExpiredCodes.contains(text) { return .credentialExpired(code: text, message: messageText) }
        if retryCodes.contains(text) { return .retry(code: text, message: messageText) }
        return .rejected(code: text, message: messageText)
    }
}

/// A JSON value that is neither an object nor an array.
enum JSONScalar: Hashable, CustomStringConvertible {
    case text(String)
    case integer(Int64)
    case unsigned(UInt64)
    case number(Double)
    case boolean(Bool)

    /// The value as a code: `0`, `true`, `E100`.
    var description: String {
        switch self {
        case .text(let text): text
        case .integer(let number): "\(number)"
        case .unsigned(let number): "\(number)"
        // When codes are compared, 0.0 equals 0.
        case .number(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        case .boolean(let boolean): "\(boolean)"
        }
    }

    /// Returns the value of a container; `nil` for an object, an array or `null`.
    init?(_ value: any SingleValueDecodingContainer) {
        if let boolean = try? value.decode(Bool.self) {
            self = .boolean(boolean)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let integer = try? value.decode(Int64.self) {
            self = .integer(integer)
        } else if let integer = try? value.decode(UInt64.self) {
            self = .unsigned(integer)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else {
            return nil
        }
    }

    /// Returns the value at a path; `nil` if there is nothing, an object, an array or `null`.
    ///
    /// - Throws: An error if the bytes are not JSON.
    static func find(_ path: String, in bytes: [UInt8]) throws -> JSONScalar? {
        let decoder = JSONDecoder()
        decoder.userInfo[Probe.path] = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        return try decoder.decode(Probe.self, from: Data(bytes)).found
    }

    /// Decodes only the values along one path.
    private struct Probe: Decodable {
        static let path = CodingUserInfoKey(rawValue: "waybill.path")!
        let found: JSONScalar?

        init(from decoder: any Decoder) throws {
            found = Self.value(decoder, (decoder.userInfo[Self.path] as? [String] ?? [])[...])
        }

        private static func value(_ decoder: any Decoder, _ path: ArraySlice<String>) -> JSONScalar? {
            guard let key = path.first else {
                return (try? decoder.singleValueContainer()).flatMap { JSONScalar($0) }
            }
            if let object = try? decoder.container(keyedBy: Key.self) {
                return (try? object.superDecoder(forKey: Key(stringValue: key))).flatMap { value($0, path.dropFirst()) }
            }
            guard let index = Int(key), index >= 0, var array = try? decoder.unkeyedContainer(),
                index < array.count ?? 0
            else { return nil }
            while array.currentIndex < index, (try? array.superDecoder()) != nil {}
            return (try? array.superDecoder()).flatMap { value($0, path.dropFirst()) }
        }
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
