/// The objects that an upload token allows to be written: `scope` of the put policy.
public enum QiniuScope: Sendable, Hashable {
    /// New objects with any key in a bucket. An existing object is not overwritten.
    case bucket(String)
    /// One object, which is overwritten if it exists.
    case key(String, bucket: String)
    /// One object, which must not exist yet (`insertOnly`).
    case newKey(String, bucket: String)
    /// Objects whose keys have a prefix; existing ones are overwritten (`isPrefixalScope`).
    case prefix(String, bucket: String)

    /// The bucket.
    public var bucket: String {
        switch self {
        case .bucket(let bucket), .key(_, let bucket), .newKey(_, let bucket), .prefix(_, let bucket): bucket
        }
    }

    /// The value of `scope`.
    public var text: String {
        switch self {
        case .bucket(let bucket): bucket
        case .key(let key, let bucket), .newKey(let key, let bucket), .prefix(let key, let bucket): "\(bucket):\(key)"
        }
    }

    /// Whether an object with a key can be written; `nil` stands for a key that the store chooses.
    public func covers(_ key: String?) -> Bool {
        switch self {
        case .bucket: true
        case .key(let own, _), .newKey(let own, _): key.map { Self.areEqual($0, own) } ?? true
        case .prefix(let prefix, _): key.map { $0.utf8.starts(with: prefix.utf8) } ?? true
        }
    }

    // Compare bytes: keys that are canonically equivalent strings in Swift can name different objects.
    private static func areEqual(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }

    /// Parses the scope of a policy. A key can contain colons, a bucket name can't.
    init(text: String, isPrefix: Bool, isInsertOnly: Bool) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            self = .bucket(text)
            return
        }
        let bucket = String(text[..<colon])
        let key = String(text[text.utf8.index(after: colon)...])
        self =
            if isPrefix { .prefix(key, bucket: bucket) } else if isInsertOnly { .newKey(key, bucket: bucket) } else {
                .key(key, bucket: bucket)
            }
    }
}
