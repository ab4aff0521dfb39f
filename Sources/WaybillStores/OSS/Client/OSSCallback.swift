import FoundationEssentials
import HTTPTypes

/// A callback: the request that OSS sends to a server of yours after it has stored an object.
///
/// ```swift
/// var callback = OSSCallback(["https://app.example/stored"], body: "key=${object}&order=${x:order}")
/// callback.variables = ["order": "7"]
/// options.callback = callback
/// ```
///
/// OSS waits 5 seconds for that server and does not retry. The response of the server is
/// ``OSSStoredObject/callbackResponse``. If the callback fails, the object is stored nevertheless, and the upload ends
/// with ``StoreError/Code/storedButCallbackFailed``.
public struct OSSCallback: Sendable, Hashable {
    /// The encoding of the body.
    public enum BodyType: String, Sendable, Hashable, CaseIterable {
        /// Values are percent-encoded.
        case form = "application/x-www-form-urlencoded"
        /// Values are JSON strings.
        case json = "application/json"
    }

    /// The URLs of the callback, one to five. OSS uses the first that responds.
    public var urls: [String]
    /// The body. OSS substitutes `${bucket}`, `${object}`, `${etag}`, `${size}`, `${mimeType}`, `${imageInfo.width}`,
    /// `${imageInfo.height}`, `${imageInfo.format}` and `${x:name}`.
    public var body: String
    /// The encoding of the body.
    public var bodyType: BodyType
    /// The `Host` field of the callback, if it differs from the host of the URL.
    public var host: String?
    /// Whether the TLS handshake of the callback sends the server name (SNI).
    public var sendsServerName = false
    /// The values of `${x:name}`. Names are lower-case letters, digits, hyphens, underscores and dots, without `x:`.
    public var variables: [String: String] = [:]

    /// Creates a callback.
    public init(_ urls: [String], body: String, bodyType: BodyType = .form) {
        self.urls = urls
        self.body = body
        self.bodyType = bodyType
    }

    /// Returns the header fields, Base64 of JSON; the second one only if there are variables.
    ///
    /// - Throws: ``StoreError/Code/invalidArgument``.
    func fields() throws(StoreError) -> HTTPFields {
        var fields: HTTPFields = [:]
        fields[.ossCallback] = try order()
        if !variables.isEmpty { fields[.ossCallbackVariables] = try Self.encoded(namedVariables()) }
        return fields
    }

    /// Returns the value of `callback`, for a header field or a form field.
    func order() throws(StoreError) -> String {
        let isURL = urls.allSatisfy { url in
            (url.hasPrefix("http://") || url.hasPrefix("https://")) && !url.utf8.contains { $0 <= 0x20 || $0 == 0x3B }
        }
        guard (1...5).contains(urls.count), isURL, !body.isEmpty else {
            throw StoreError(.invalidArgument, "A callback requires one to five http or https URLs and a body.")
        }
        return try Self.encoded(
            Order(
                callbackUrl: urls.joined(separator: ";"), callbackHost: host, callbackBody: body,
                callbackBodyType: bodyType.rawValue, callbackSNI: sendsServerName ? true : nil))
    }

    /// Returns the variables with the prefix `x:`.
    func namedVariables() throws(StoreError) -> [String: String] {
        for name in variables.keys {
            let isPlain = name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || "-_.".utf8.contains(byte)
            }
            guard !name.isEmpty, isPlain else {
                throw StoreError(
                    .invalidArgument,
                    "The name of the callback variable \(StoreError.shown(name)) is invalid. Omit the prefix x:, and "
                        + "use lower-case letters, digits, hyphens, underscores and dots.")
            }
        }
        return Dictionary(uniqueKeysWithValues: variables.map { ("x:\($0.key)", $0.value) })
    }

    private struct Order: Encodable {
        var callbackUrl: String
        var callbackHost: String?
        var callbackBody: String
        var callbackBodyType: String
        var callbackSNI: Bool?
    }

    private static func encoded(_ value: some Encodable) throws(StoreError) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text: String
        do {
            text = try encoder.encode(value).base64EncodedString()
        } catch {
            throw StoreError(.invalidArgument, "The callback can't be encoded as JSON.", cause: error)
        }
        guard text.utf8.count <= 5_120 else {
            throw StoreError(
                .invalidArgument,
                "The callback has \(text.utf8.count) bytes in Base64, more than the limit of 5,120. Shorten it."
            )
        }
        return text
    }
}

extension OSSCallback: RedactedDescription {
    /// The number of URLs and the names of the variables. The values are omitted: they can be sensitive.
    public var description: String {
        "callback to \(urls.count) URLs with "
            + "\(variables.keys.sorted().map { StoreError.shown($0) }.joined(separator: ", "))"
    }
}
