internal import CTestSupport
internal import FoundationEssentials

/// A checksum of Amazon S3, computed independently of the client.
enum S3Sum: String, CaseIterable {
    case sha256
    case crc32
    case crc32c
    case crc64nvme

    var field: String { "x-amz-checksum-\(rawValue)" }
    var element: String { "Checksum\(rawValue.uppercased())" }
    var isComposite: Bool { self == .sha256 }

    /// Returns the checksum in Base64.
    func value(_ bytes: [UInt8]) -> String {
        switch self {
        case .sha256: Data(BodyIntake.digests(bytes).sha256).base64EncodedString()
        case .crc32: Self.text(Self.crc(0xEDB8_8320, bytes), 4)
        case .crc32c: Self.text(Self.crc(0x82F6_3B78, bytes), 4)
        case .crc64nvme: Self.text(Self.crc(0x9A6C_9329_AC4B_C9B5, bytes), 8)
        }
    }

    private static func crc(_ polynomial: UInt64, _ bytes: [UInt8]) -> UInt64 {
        unsafe bytes.withUnsafeBytes {
            unsafe cts_crc(polynomial, $0.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!, $0.count)
        }
    }

    private static func text(_ value: UInt64, _ count: Int) -> String {
        Data((0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }).base64EncodedString()
    }

    /// Returns the checksum that a request has, with its value.
    static func stated(_ fields: [String: String]) -> (sum: S3Sum, value: String)? {
        for sum in allCases { if let value = fields[sum.field] { return (sum, value) } }
        return nil
    }

    /// Returns the checksum that a multipart upload was begun with.
    static func begun(_ upload: OSSOpenUpload) -> S3Sum? {
        upload.fields["x-amz-checksum-algorithm"].flatMap { S3Sum(rawValue: $0.lowercased()) }
    }

    /// Replaces the checksums of a response by wrong ones.
    static func damage(_ reply: inout OSSReply) {
        for sum in allCases {
            reply.fields = reply.fields.map { $0.0 == sum.field ? ($0.0, wrong($0.1)) : $0 }
            for value in StoreText.elements(sum.element, in: reply.body.text) {
                let (old, new) = ("<\(sum.element)>\(value)<", "<\(sum.element)>\(wrong(value))<")
                let pieces = reply.body.text.split(separator: old, omittingEmptySubsequences: false)
                reply.body = Array(pieces.joined(separator: new).utf8)
            }
        }
    }

    private static func wrong(_ value: String) -> String { (value.first == "A" ? "B" : "A") + value.dropFirst() }
}

extension OSSWork {
    /// Checks the checksum of a body and returns the field of the response.
    func checkSum(_ upload: OSSOpenUpload? = nil) throws -> [(String, String)] {
        let stated = S3Sum.stated(call.request.fields)
        if let upload, let begun = S3Sum.begun(upload) ?? stated?.sum, S3Sum.begun(upload) != stated?.sum {
            throw Self.invalid("Checksum type mismatch: the upload or the part lacks \(begun.rawValue).")
        }
        guard let stated, let bytes = body.bytes else { return [] }
        guard stated.value == stated.sum.value(bytes) else {
            throw OSSRefusal(400, "BadDigest", "The \(stated.sum.rawValue) you specified did not match.", ec: "")
        }
        return [(stated.sum.field, stated.value)]
    }

    /// Checks the checksums of a completion, and returns that of the object.
    func checkSum(
        of parts: [StoredBytes], _ upload: OSSOpenUpload
    ) throws -> (sum: S3Sum, value: String)? {
        let stated = S3Sum.stated(call.request.fields)
        guard let sum = S3Sum.begun(upload) else {
            if stated != nil { throw Self.invalid("The upload was not begun with a checksum.") }
            return nil
        }
        let pieces = parts.compactMap(\.bytes)
        guard pieces.count == parts.count else { throw Self.invalid("This store has kept only digests of the parts.") }
        let listed = StoreText.elements(sum.element, in: body.bytes?.text ?? "")
        guard listed == pieces.map(sum.value) else {
            throw Self.invalid("The complete request must include the checksum for each part.")
        }
        if sum.isComposite {
            let whole = sum.value(pieces.flatMap { BodyIntake.digests($0).sha256 })
            return (sum, "\(whole)-\(pieces.count)")
        }
        let whole = sum.value(pieces.flatMap { $0 })
        let isFull = upload.fields["x-amz-checksum-type"] == "FULL_OBJECT"
        guard isFull, call.request.value(of: "x-amz-checksum-type") == "FULL_OBJECT" else {
            throw Self.invalid("This store has composite checksums only of hashes.")
        }
        guard stated?.sum == sum, stated?.value == whole else {
            throw OSSRefusal(400, "BadDigest", "The checksum of the object did not match.", ec: "")
        }
        return (sum, whole)
    }

    private static func invalid(_ message: String) -> OSSRefusal { OSSRefusal(400, "InvalidRequest", message, ec: "") }
}
