import FoundationEssentials
import HTTPTypes
public import WaybillCore
public import WaybillMultipart

/// A hash function for the checksums of a resumable upload. With one, the server compares each append with what it has
/// received, and stores nothing of an append that was damaged on the way.
///
/// `WaybillStores` has `sha256`, `sha1` and `sha512`. For any other, pass its names and a closure:
///
/// ```swift
/// let checksum = ResumeChecksum(name: "blake3") { chunks in
///     var hash = BLAKE3()
///     for try await chunk in chunks { hash.update(chunk) }
///     return hash.finalize()
/// }
/// ```
///
/// Two checksums are equal if their names are.
public struct ResumeChecksum: Sendable {
    /// Computes the hash of the bytes of an append.
    public typealias Compute =
        @Sendable (_ chunks: AsyncValues<[UInt8], BodyError>) async throws(BodyError) -> [UInt8]

    /// The name in `Upload-Checksum` of tus, such as `sha256`.
    public let name: String
    /// The name in `Content-Digest` (RFC 9530), such as `sha-256`; `nil` to send none with the IETF draft.
    public let digestName: String?
    let compute: Compute

    /// Creates a checksum from its names and a closure that computes it.
    public init(name: String, digestName: String? = nil, compute: @escaping Compute) {
        self.name = name
        self.digestName = digestName
        self.compute = compute
    }

    /// Returns the name that a protocol has for it; `nil` if it has no name there.
    func name(in dialect: ResumeDialect) -> String? { dialect == .tus ? name : digestName }
}

extension ResumeChecksum: Hashable, CustomStringConvertible {
    /// Compares the names.
    public static func == (left: ResumeChecksum, right: ResumeChecksum) -> Bool {
        left.name == right.name && left.digestName == right.digestName
    }

    /// Hashes the names.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(digestName)
    }

    /// The name.
    public var description: String { name }
}

extension ResumeDialect {
    /// The checksum of an append as a header field.
    func checksumField(_ name: String, _ hash: [UInt8]) -> (name: HTTPField.Name, value: String) {
        let text = Data(hash).base64EncodedString()
        return self == .tus ? (.uploadChecksum, "\(name) \(text)") : (.contentDigest, "\(name)=:\(text):")
    }
}
