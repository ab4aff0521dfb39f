import HTTPTypes
import WaybillCore

/// The response of a store that rejected a put.
struct StoreRejection {
    private let response: UploadResponse

    init(_ response: UploadResponse) {
        self.response = response
    }

    /// Whether the store reports that a ticket has expired. S3, OSS and MinIO respond with 403 `AccessDenied` and
    /// "Request has expired", R2 with `ExpiredRequest`, to temporary keys with `ExpiredToken` or
    /// `SecurityTokenExpired`, to forms with "Policy expired", Azure with "not valid in the specified time frame", and
    /// Qiniu with 401.
    var reportsExpiry: Bool {
        switch response.status.code {
        case 401, 410: true
        case 400, 403:
            // The detail of Azure may contain the string to sign, and thus the name of the object.
            element("AuthenticationErrorDetail")?.contains("specified time frame") == true
                || texts.contains { $0.lowercased().contains("expired") }
        default: false
        }
    }

    /// The response without the text that the store received, because that may contain the signature: the status, code
    /// and message, and header fields that are known to be harmless.
    var summary: UploadResponse {
        var summary = response
        summary.headers = HTTPFields(
            response.headers.filter { field in
                Redaction.harmless.contains(field.name) || field.name == .retryAfter
                    || field.name.canonicalName.hasSuffix("request-id")
            })
        let elements = Self.elements.compactMap { name in element(name).map { "<\(name)>\($0)</\(name)>" } }
        summary.body = elements.isEmpty ? [] : Array("<Error>\(elements.joined())</Error>".utf8)
        return summary
    }

    private static let elements = ["Code", "Message"]

    /// The texts that state the reason. An object key elsewhere in the body may contain any word.
    private var texts: [String] {
        if isXML { return Self.elements.compactMap { element($0) } }
        if let document = JSONDocument(response.body) { return document.strings(named: ["code", "message", "error"]) }
        return [response.text]
    }

    private var isXML: Bool {
        let marks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF]
        return response.body.first { !marks.contains($0) } == UInt8(ascii: "<")
    }

    /// Returns the text of the first element with this name, with its escapes.
    private func element(_ name: String) -> String? {
        guard isXML, let start = response.body.firstRange(of: Array("<\(name)>".utf8))?.upperBound else { return nil }
        let text = response.body[start...].prefix { $0 != UInt8(ascii: "<") }
        return String(decoding: text, as: UTF8.self)
    }
}
