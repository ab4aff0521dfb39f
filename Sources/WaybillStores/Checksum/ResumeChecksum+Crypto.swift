import Crypto
public import Waybill
import WaybillCore
import WaybillMultipart

extension ResumeChecksum {
    /// SHA-256, for both protocols.
    public static let sha256 = ResumeChecksum(name: "sha256", digestName: "sha-256", SHA256.self)
    /// SHA-512, for both protocols.
    public static let sha512 = ResumeChecksum(name: "sha512", digestName: "sha-512", SHA512.self)
    /// SHA-1, which every tus server with checksums supports. It detects damage, not manipulation.
    public static let sha1 = ResumeChecksum(name: "sha1", Insecure.SHA1.self)

    private init<Function: HashFunction>(name: String, digestName: String? = nil, _ function: Function.Type) {
        self.init(name: name, digestName: digestName) { chunks async throws(BodyError) in
            var hash = Function()
            for try await chunk in chunks { hash.update(data: chunk) }
            return Array(hash.finalize())
        }
    }
}
