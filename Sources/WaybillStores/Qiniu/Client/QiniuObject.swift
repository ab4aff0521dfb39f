public import FoundationEssentials

/// An object that Qiniu has stored.
public struct QiniuObject: Sendable, Hashable {
    /// Its key; `nil` where the answer is one of your own that does not say it.
    public var key: String?
    /// Its hash: see ``QiniuEtag``. `nil` where the answer is one of your own that does not say it.
    public var hash: String?
    /// Its URL without a signature, where the client knows the domain that objects are read from:
    /// ``QiniuClient/Configuration/publicDomain``. Whether it opens depends on the bucket.
    public var url: String?
    /// The whole answer: Qiniu's JSON, what `returnBody` makes of it, or the callback's answer.
    public var body: [UInt8]
    /// The id under which Qiniu's support finds the request.
    public var requestID: String?
    /// The host that stored it.
    public var host: String
    /// Whether the hash was compared with that of our bytes.
    public var isHashChecked = false
    /// How many bytes of it had been stored by an earlier run.
    public var resumedBytes: Int64 = 0

    /// Reads the answer as JSON.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: Data(body))
    }
}
