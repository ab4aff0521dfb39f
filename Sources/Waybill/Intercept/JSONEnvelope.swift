import FoundationEssentials

/// Reads the envelope in which many servers put every answer, whatever its status says: `{"code": 0, "message": "ok",
/// "data": {…}}`.
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
/// A code that is a number and one that is the same number as text are one: `0` and `"0"`. `true` and `false` are codes,
/// too. An answer that is no such envelope is a no unless ``acceptsOthers`` is set: its message says what is missing.
///
/// An answer larger than ``maximumBytes`` is not read: a no as well. Costs one pass over the JSON.
public struct JSONEnvelope: UploadInterceptor, Hashable {
    /// Where the code is: keys with dots between them, a number for a place in an array.
    public var code = "code"
    /// Where the text for people is. It may be missing in the answer.
    public var message = "message"
    /// The codes that mean yes.
    public var successCodes: Set<String> = ["0", "200", "true"]
    /// The codes that mean that the credential is no longer good: it is refreshed and the upload sent once more.
    public var credentialExpiredCodes: Set<String> = []
    /// The codes that mean "not now": retried like 503.
    public var retryCodes: Set<String> = []
    /// Whether an answer that is no JSON, or has no code there, is a yes.
    public var acceptsOthers = false
    /// The largest answer that is read.
    public var maximumBytes = 1 << 20

    /// `code` 0, 200 or true is a yes; `message` is the text.
    public init() {}

    /// An envelope with these paths and codes.
    public init(code: String, message: String = "message", successCodes: Set<String>) {
        self.code = code
        self.message = message
        self.successCodes = successCodes
    }

    /// What the envelope says.
    public func judge(_ response: UploadResponse) async throws -> ResponseVerdict { verdict(on: response.body) }

    /// What the bytes of an answer say.
    public func verdict(on body: [UInt8]) -> ResponseVerdict {
        guard body.count <= maximumBytes else {
            return .rejected(
                message: "an answer of \(body.count) bytes is not read for its code; the limit is \(maximumBytes)")
        }
        let found: JSONScalar?
        do {
            found = try JSONScalar.find(code, in: body)
        } catch {
            return acceptsOthers ? .accepted : .rejected(message: "the answer is not JSON")
        }
        guard let found else {
            return acceptsOthers ? .accepted : .rejected(message: "the answer has no \"\(code)\"")
        }
        let text = found.description
        guard !successCodes.contains(text) else { return .accepted }
        let words = (try? JSONScalar.find(message, in: body))?.description ?? ""
        if credentialExpiredCodes.contains(text) { return .credentialExpired(code: text, message: words) }
        if retryCodes.contains(text) { return .retry(code: text, message: words) }
        return .rejected(code: text, message: words)
    }
}

/// A value of JSON that is neither an object nor an array.
enum JSONScalar: Hashable, CustomStringConvertible {
    case text(String)
    case integer(Int64)
    case number(Double)
    case truth(Bool)

    /// As a code is written: `0`, `true`, `E100`.
    var description: String {
        switch self {
        case .text(let text): text
        case .integer(let number): "\(number)"
        // 0.0 is 0 to somebody who compares codes.
        case .number(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        case .truth(let truth): "\(truth)"
        }
    }

    /// The value at a path; `nil` when nothing, an object, an array or `null` is there.
    ///
    /// - Throws: When the bytes are no JSON.
    static func find(_ path: String, in bytes: [UInt8]) throws -> JSONScalar? {
        let decoder = JSONDecoder()
        decoder.userInfo[Probe.path] = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        return try decoder.decode(Probe.self, from: Data(bytes)).found
    }

    /// Walks down one path and looks at nothing else.
    private struct Probe: Decodable {
        static let path = CodingUserInfoKey(rawValue: "waybill.path")!
        let found: JSONScalar?

        init(from decoder: any Decoder) throws {
            found = Self.walk(decoder, (decoder.userInfo[Self.path] as? [String] ?? [])[...])
        }

        private static func walk(_ decoder: any Decoder, _ path: ArraySlice<String>) -> JSONScalar? {
            guard let key = path.first else {
                return (try? decoder.singleValueContainer()).flatMap(scalar)
            }
            if let object = try? decoder.container(keyedBy: Key.self) {
                return (try? object.superDecoder(forKey: Key(stringValue: key))).flatMap { walk($0, path.dropFirst()) }
            }
            guard let place = Int(key), place >= 0, var array = try? decoder.unkeyedContainer(),
                place < array.count ?? 0
            else { return nil }
            while array.currentIndex < place, (try? array.superDecoder()) != nil {}
            return (try? array.superDecoder()).flatMap { walk($0, path.dropFirst()) }
        }

        private static func scalar(_ value: any SingleValueDecodingContainer) -> JSONScalar? {
            if let truth = try? value.decode(Bool.self) { return .truth(truth) }
            if let text = try? value.decode(String.self) { return .text(text) }
            if let integer = try? value.decode(Int64.self) { return .integer(integer) }
            return (try? value.decode(Double.self)).map { .number($0) }
        }
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
