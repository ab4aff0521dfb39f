import HTTPTypes

/// A checksum that the client sends in advance and the store verifies. The content is read once more for it, before the
/// request.
///
/// An object in parts has the MD5 of each part, or the checksum that the upload was begun with: a CRC of the whole object
/// (`FULL_OBJECT`), which the store compares at the completion, or the SHA-256 of the parts' hashes.
public enum S3Checksum: String, Sendable, Hashable, CaseIterable, Codable {
    /// `Content-MD5`, which every store accepts.
    case md5
    /// `x-amz-checksum-sha256`.
    case sha256
    /// `x-amz-checksum-crc32`, the CRC of zlib.
    case crc32
    /// `x-amz-checksum-crc32c`, the CRC of Castagnoli.
    case crc32C = "crc32c"
    /// `x-amz-checksum-crc64nvme`, which Amazon S3 recommends.
    case crc64NVME = "crc64nvme"

    /// The checksum of no bytes.
    var running: RunningChecksum {
        switch self {
        case .md5: .md5
        case .sha256: .sha256
        case .crc32: .crc32
        case .crc32C: .crc(CRC(.castagnoli))
        case .crc64NVME: .crc(CRC(.nvme))
        }
    }

    /// The name in `x-amz-checksum-algorithm`.
    var algorithm: String { rawValue.uppercased() }
    /// The XML element with the checksum of a part or an object.
    var element: String { "Checksum\(algorithm)" }
    /// Whether that of an object in parts is the checksum of all its bytes.
    var coversObject: Bool { self != .md5 && self != .sha256 }

    /// The header field with the checksum of a body or an object.
    var field: HTTPField.Name {
        guard self != .md5 else { return .contentMD5 }
        guard let name = HTTPField.Name("x-amz-checksum-\(rawValue)") else {
            preconditionFailure("The name of the checksum is invalid.")
        }
        return name
    }
}
