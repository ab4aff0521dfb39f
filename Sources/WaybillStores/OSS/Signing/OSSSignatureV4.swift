/// Version 4 of OSS's signatures.
typealias OSSSignatureV4 = SignatureV4<OSSSignatureRules>

/// The rules of OSS. The signed path has bucket and key, wherever the URL has them.
enum OSSSignatureRules: SignatureV4Rules {
    static let algorithm = "OSS4-HMAC-SHA256"
    static let keyPrefix = "aliyun_v4"
    static let terminator = "aliyun_v4_request"
    static let fieldPrefix = "x-oss-"
    static let formAlgorithmField = "x-oss-signature-version"
    static let itemNames = SignatureV4ItemNames(
        algorithm: "x-oss-signature-version", date: "x-oss-date", expires: "x-oss-expires",
        credential: "x-oss-credential", list: "x-oss-additional-headers", token: "x-oss-security-token",
        signature: "x-oss-signature")
    static let listName = "AdditionalHeaders"
    static let listsAllFields = false
    static let normalizesValues = false
}
