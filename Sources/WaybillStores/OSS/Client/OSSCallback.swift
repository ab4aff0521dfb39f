import FoundationEssentials
import HTTPTypes

/// What OSS tells a server of yours when an object is stored.
///
/// ```swift
/// var callback = OSSCallback(["https://app.example/stored"], body: "key=${object}&order=${x:order}")
/// callback.variables = ["order": "7"]
/// options.callback = callback
/// ```
///
/// OSS waits 5 seconds for that server and does not ask twice. What it answers is ``OSSStoredObject/callbackAnswer``; if it
/// fails, the object is stored all the same, and the upload ends with ``StoreError/Code/storedButCallbackFailed``.
public struct OSSCallback: Sendable, Hashable {
    /// How the body is written.
    public enum BodyType: String, Sendable, Hashable, CaseIterable {
        /// Values are percent-encoded.
        case form = "application/x-www-form-urlencoded"
        /// Values are JSON strings.
        case json = "application/json"
    }

    /// Where to tell it, one to five URLs: the first that answers.
    public var urls: [String]
    /// What to tell. `${bucket}`, `${object}`, `${etag}`, `${size}`, `${mimeType}`, `${imageInfo.width}`,
    /// `${imageInfo.height}`, `${imageInfo.format}` and `${x:name}` are filled in.
    public var body: String
    /// How the body is written.
    public var bodyType: BodyType
    /// The `Host` of the callback, if it is not the URL's.
    public var host: String?
    /// Whether the callback's TLS names its host.
    public var sendsServerName = false
    /// Values for `${x:name}`; names are small letters, digits, hyphens, underscores and dots, without the `x:`.
    public var variables: [String: String] = [:]

    /// Describes a callback.
    public init(_ urls: [String], body: String, bodyType: BodyType = .form) {
        self.urls = urls
        self.body = body
        self.bodyType = bodyType
    }

    /// The two header fields, Base64 of JSON; the second only with variables.
    ///
    /// - Throws: ``StoreError/Code/invalidArgument``.
    func fields() throws(StoreError) -> HTTPFields {
        var fields: HTTPFields = [:]
        fields[.ossCallback] = try order()
        if !variables.isEmpty { fields[.ossCallbackVariables] = try Self.encoded(namedVariables()) }
        return fields
    }

    /// The field `callback`, for a header or a form.
    func order() throws(StoreError) -> String {
        let isURL = urls.allSatisfy { url in
            (url.hasPrefix("http://") || url.hasPrefix("https://")) && !url.utf8.contains { $0 <= 0x20 || $0 == 0x3B }
        }
        guard (1...5).contains(urls.count), isURL, !body.isEmpty else {
            throw StoreError(.invalidArgument, "a callback has one to five http or https URLs, and a body")
        }
        return try Self.encoded(
            Order(
                callbackUrl: urls.joined(separator: ";"), callbackHost: host, callbackBody: body,
                callbackBodyType: bodyType.rawValue, callbackSNI: sendsServerName ? true : nil))
    }

    /// The variables with their `x:`.
    func namedVariables() throws(StoreError) -> [String: String] {
        for name in variables.keys {
            let isPlain = name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || "-_.".utf8.contains(byte)
            }
            guard !name.isEmpty, isPlain else {
                throw StoreError(
                    .invalidArgument,
                    "the callback variable \(StoreError.shown(name)) has more than small letters, digits and -_. (and no x:)"
                )
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
            throw StoreError(.invalidArgument, "the callback can't be written as JSON", cause: error)
        }
        guard text.utf8.count <= 5_120 else {
            throw StoreError(
                .invalidArgument, "the callback has \(text.utf8.count) bytes in Base64, and OSS takes 5,120: shorten it"
            )
        }
        return text
    }
}

extension OSSCallback: CustomStringConvertible, CustomReflectable {
    /// How many URLs and which variables; their values may be anything.
    public var description: String {
        "callback to \(urls.count) URLs with \(variables.keys.sorted().map { StoreError.shown($0) }.joined(separator: ", "))"
    }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["callback": description]) }
}
