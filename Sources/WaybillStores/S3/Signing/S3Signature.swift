/// Version 4 of the signatures of Amazon S3 and compatible stores.
typealias S3SignatureV4 = SignatureV4<S3SignatureRules>

/// The rules of Amazon S3. The signed path is that of the URL, percent-encoded once.
enum S3SignatureRules: SignatureV4Rules {
    static let algorithm = "AWS4-HMAC-SHA256"
    static let keyPrefix = "AWS4"
    static let terminator = "aws4_request"
    static let fieldPrefix = "x-amz-"
    static let formAlgorithmField = "x-amz-algorithm"
    static let itemNames = SignatureV4ItemNames(
        algorithm: "X-Amz-Algorithm", date: "X-Amz-Date", expires: "X-Amz-Expires", credential: "X-Amz-Credential",
        list: "X-Amz-SignedHeaders", token: "X-Amz-Security-Token", signature: "X-Amz-Signature")
    static let listName = "SignedHeaders"
    static let listsAllFields = true
    static let normalizesValues = true
}
