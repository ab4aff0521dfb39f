public import HTTPTypes
import WaybillCore

/// A request with its signature, in its header fields or in its query.
///
/// Send ``headers`` and ``query`` exactly as they are: every byte of them is signed.
public struct OSSSignedRequest: Sendable, Hashable {
    let request: OSSRequestToSign
    /// What was signed, for a look at it beside the store's when the store says that the signature does not match. It may
    /// hold a security token: ``OSSSignatureDifference`` compares without showing it.
    public let stringToSign: String
    /// What version 4 hashed into ``stringToSign``; `nil` with version 1.
    public let canonicalRequest: String?
    /// The credentials that signed, to hand back as `rejecting` when the store refuses them; `nil` when the signature came
    /// from elsewhere.
    public internal(set) var credentials: StoreCredentials?

    init(request: OSSRequestToSign, stringToSign: String, canonicalRequest: String?) {
        self.request = request
        self.stringToSign = stringToSign
        self.canonicalRequest = canonicalRequest
    }

    /// All header fields, `Authorization` and the date among them.
    public var headers: HTTPFields { request.headers }
    /// The whole query, not encoded: what was there, and what the signature added.
    public var query: [StoreQueryItem] { request.query }
    /// The whole query, encoded and without its `?`; `nil` for none.
    public var queryText: String? { query.isEmpty ? nil : StoreQueryItem.text(of: query) }
}

extension OSSSignedRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The request without its values.
    public var description: String { "signed \(request)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
