import WaybillCore

/// The first difference between the local and the store's string to sign, for diagnosing `SignatureDoesNotMatch`.
///
/// The error response contains the string that the store signed. The first line that differs usually reveals the cause:
/// a key that a proxy decoded, a content type that an HTTP client added, a duplicate date. Tokens, signatures and
/// upload IDs are redacted.
///
/// ```swift
/// let difference = OSSSignatureDifference(of: signed, theirStringToSign: answer.stringToSign)
/// print(difference)       // Line 3 (content type) differs: local "", store "image/jpeg".
/// ```
public struct OSSSignatureDifference: Sendable, Hashable {
    /// The 1-based number of the first line that differs; `nil` if none differs.
    public let line: Int?
    /// The subject of the line, such as `content type`.
    public let subject: String
    /// The local line, safe to print.
    public let ours: String
    /// The store's line, safe to print.
    public let theirs: String

    /// Compares the signed strings.
    ///
    /// - Parameters:
    ///   - signed: The request that was sent.
    ///   - theirStringToSign: The string that the store reports to have signed.
    ///   - theirCanonicalRequest: The canonical request of version 4, in which a difference is readable, unlike in its
    ///     hash.
    public init(of signed: OSSSignedRequest, theirStringToSign: String, theirCanonicalRequest: String? = nil) {
        self.init(
            signed.stringToSign, signed.canonicalRequest, theirStringToSign: theirStringToSign,
            theirCanonicalRequest: theirCanonicalRequest)
    }

    /// Compares the strings of either store; the canonical request is `nil` for version 1.
    init(
        _ stringToSign: String, _ canonicalRequest: String?, theirStringToSign: String, theirCanonicalRequest: String?
    ) {
        if let ours = canonicalRequest, let theirs = theirCanonicalRequest,
            let found = Self.first(ours, theirs)
        {
            self.init(found, subject: "of the canonical request\(Self.canonicalSubject(found, ours))")
        } else if let found = Self.first(stringToSign, theirStringToSign) {
            let isV4 = canonicalRequest != nil
            self.init(found, subject: isV4 ? Self.subjectV4(found.line) : Self.subjectV1(found))
        } else {
            self.init(nil, subject: "")
        }
    }

    private init(_ found: Found?, subject: String) {
        line = found?.line
        self.subject = subject
        ours = Self.shown(found?.ours ?? "")
        theirs = Self.shown(found?.theirs ?? "")
    }

    private struct Found {
        let line: Int
        let ours: String
        let theirs: String
    }

    private static func first(_ ours: String, _ theirs: String) -> Found? {
        let (mine, other) = (lines(of: ours), lines(of: theirs))
        for index in 0..<max(mine.count, other.count) {
            let left = index < mine.count ? mine[index] : nil
            let right = index < other.count ? other[index] : nil
            guard left != right else { continue }
            return Found(line: index + 1, ours: text(left), theirs: text(right))
        }
        return nil
    }

    /// Splits into bytes: canonically equivalent strings are equal in Swift but have different hashes.
    private static func lines(of text: String) -> [[UInt8]] {
        text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map(Array.init)
    }

    private static func text(_ line: [UInt8]?) -> String {
        line.map { String(decoding: $0, as: UTF8.self) } ?? "(no line)"
    }

    private static func subjectV1(_ found: Found) -> String {
        switch found.line {
        case 1: " (method)"
        case 2: " (content digest)"
        case 3: " (content type)"
        case 4: " (date)"
        default: found.ours.utf8.first == UInt8(ascii: "/") ? " (resource)" : " (field or resource)"
        }
    }

    private static func subjectV4(_ line: Int) -> String {
        switch line {
        case 1: " (algorithm)"
        case 2: " (date)"
        case 3: " (day, region and product)"
        default: " (hash of the canonical request)"
        }
    }

    private static func canonicalSubject(_ found: Found, _ ours: String) -> String {
        switch found.line {
        case 1: " (method)"
        case 2: " (path)"
        case 3: " (query)"
        default: ""
        }
    }

    /// Returns the line with secrets redacted, truncated, and with visible control characters.
    static func shown(_ line: String) -> String {
        var text = line
        for name in ["x-oss-security-token:", "x-amz-security-token:", "authorization:"]
        where text.lowercased().utf8.starts(with: name.utf8) {
            text = "\(name)\(Secret.placeholder)"
        }
        for name in secretItems { text = hidden(name, in: text) }
        return StoreError.shown(text)
    }

    private static let secretItems = [
        "security-token", "Signature", "x-oss-signature", "uploadId", "callback", "callback-var",
        "X-Amz-Security-Token",
        "X-Amz-Signature",
    ]

    /// Redacts the value of a query item wherever an item can begin: after `?`, after `&` or at the start.
    private static func hidden(_ name: String, in text: String) -> String {
        let pieces = text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        return pieces.map { piece in
            let piece = String(Substring(piece))
            let head = piece.utf8.lastIndex(of: UInt8(ascii: "?")).map { piece[...$0] } ?? ""
            let item = piece.utf8.dropFirst(head.utf8.count)
            let isSecret = ["\(name)=", "x-oss-\(name)="].contains { item.starts(with: $0.utf8) }
            guard isSecret, let equals = item.firstIndex(of: UInt8(ascii: "=")) else { return piece }
            return "\(head)\(String(Substring(item[...equals])))\(Secret.placeholder)"
        }.joined(separator: "&")
    }
}

extension OSSSignatureDifference: CustomStringConvertible {
    /// The difference as one sentence for an error message.
    public var description: String {
        guard let line else {
            return
                "The strings to sign are equal, so the secrets differ. Check the AccessKey secret, and that it "
                + "belongs to this AccessKey ID."
        }
        return
            "Line \(line)\(subject.hasPrefix(" ") ? subject : " \(subject)") differs: local \"\(ours)\", store "
            + "\"\(theirs)\"."
    }
}
