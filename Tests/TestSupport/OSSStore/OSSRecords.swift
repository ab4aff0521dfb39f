internal import CTestSupport
internal import Crypto
internal import Glibc
internal import WaybillCore

/// What a store keeps of the bytes of a body, a part or an object.
package struct StoredBytes: Sendable, Hashable {
    package var size = 0
    /// The MD5 of the bytes in upper-case hexadecimal digits.
    package var md5 = ""
    /// CRC-64/XZ.
    package var crc64: UInt64 = 0
    /// The SHA-256; empty unless the protocol needs it.
    package var sha256: [UInt8] = []
    /// The bytes; `nil` if there were too many to keep.
    package var bytes: [UInt8]?
}

extension StoredBytes {
    /// Creates the record of these bytes.
    package init(of bytes: [UInt8]) { self = BodyIntake.stored(bytes) }

    /// Creates the record of a range of a file.
    package init(ofFile path: String, from start: Int, count: Int) throws {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw SystemCallFailure(call: "open", code: errno) }
        defer { close(file) }
        let intake = BodyIntake(keepsUpTo: 0)
        var offset = start
        while offset < start + count {
            let wanted = min(1 << 20, start + count - offset)
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: wanted) { buffer, got in
                got = unsafe max(0, pread(file, buffer.baseAddress!, wanted, off_t(offset)))
            }
            guard !bytes.isEmpty else { throw SystemCallFailure(call: "pread", code: errno) }
            intake.take(bytes)
            offset += bytes.count
        }
        self = intake.stored
    }
}

/// A body being received: its digests, and its bytes up to a limit.
final class BodyIntake: Sendable {
    private struct Sums {
        var md5 = Insecure.MD5()
        var sha256: SHA256?
        var crc64: UInt64 = 0
        var size = 0
        var bytes: [UInt8]? = []
    }

    private let sums = Locked(Sums())
    private let limit: Int

    init(keepsUpTo limit: Int, _ dialect: StoreDialect = .oss) {
        self.limit = limit
        if dialect == .s3 { sums.withLock { $0.sha256 = SHA256() } }
    }

    func take(_ bytes: [UInt8]) {
        sums.withLock { sums in
            sums.md5.update(data: bytes)
            sums.sha256?.update(data: bytes)
            sums.crc64 = unsafe bytes.withUnsafeBytes { buffer in
                unsafe buffer.baseAddress.map { unsafe cts_crc64(sums.crc64, $0, buffer.count) } ?? sums.crc64
            }
            sums.size += bytes.count
            if sums.size > limit { sums.bytes = nil } else { sums.bytes! += bytes }
        }
    }

    var stored: StoredBytes {
        sums.withLock { sums in
            StoredBytes(
                size: sums.size, md5: StoreText.hex(sums.md5.finalize()).uppercased(), crc64: sums.crc64,
                sha256: sums.sha256.map { Array($0.finalize()) } ?? [], bytes: sums.bytes)
        }
    }

    /// Returns the record of existing bytes with all digests.
    static func digests(_ bytes: [UInt8]) -> StoredBytes {
        let intake = BodyIntake(keepsUpTo: 0, .s3)
        intake.take(bytes)
        return intake.stored
    }

    /// Returns the record of existing bytes.
    static func stored(_ bytes: [UInt8]) -> StoredBytes {
        let intake = BodyIntake(keepsUpTo: .max)
        intake.take(bytes)
        return intake.stored
    }
}

/// An object of an ``OSSStore``.
package struct OSSObject: Sendable {
    package enum Kind: String, Sendable {
        case normal = "Normal"
        case multipart = "Multipart"
        case appendable = "Appendable"
    }

    package var kind = Kind.normal
    /// The record of the whole; its `md5` is empty unless it was sent in one piece.
    package var content = StoredBytes()
    /// The ETag without its quotation marks.
    package var etag = ""
    /// The parts it was assembled from, by number.
    package var parts: [Int: StoredBytes] = [:]
    /// The fields of the request that created it, with lower-case names: `x-oss-meta-author`, `content-type`.
    package var fields: [String: String] = [:]
    /// The field and value of its checksum by the protocol of S3.
    package var checksum: (field: String, value: String)?
    /// How often it was created: by Put, Post, Complete or the first Append.
    package var timesStored = 0
    /// The callback body when it was created, with variables replaced; `nil` without a callback.
    package var callback: String?
}

/// An incomplete multipart upload of an ``OSSStore``.
package struct OSSOpenUpload: Sendable {
    package let bucket: String
    package let key: [UInt8]
    package var parts: [Int: StoredBytes] = [:]
    var fields: [String: String]
}

/// How often a part was sent.
package struct OSSPartCount: Sendable, Hashable {
    /// The number of requests that began.
    package var begun = 0
    /// The number of requests whose part was stored.
    package var stored = 0
    /// The number of requests that began when the part was already stored, so that ListParts would have listed it.
    package var resentAfterStored = 0
    /// The number of requests that have not ended.
    package var inFlight = 0
    /// The maximum number of concurrent requests.
    package var peakInFlight = 0
}

/// A request in the log of an ``OSSStore``.
package struct OSSLogEntry: Sendable {
    package let operation: OSSOperation
    package let bucket: String?
    package let key: String
    package let partNumber: Int?
    package let uploadID: String?
    /// The request line and the fields as received.
    package let lines: [String]
    /// The type of its signature; `none` if it was rejected before that was determined.
    package var signature = OSSSignatureKind.none
    /// How many bytes of its body were read.
    package var bodyBytes = 0
    /// The status of the response; `nil` if none has been sent.
    package var status: Int?
    /// The error code of the response.
    package var code: String?
    /// Whether it has ended, with or without a response.
    package var isOver = false

    /// Returns the value of a field.
    package func value(of name: String) -> String? {
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name.lowercased() else {
                continue
            }
            return String(line[line.index(after: colon)...].trimmingWhitespace)
        }
        return nil
    }
}

/// The contents and the log of an ``OSSStore``.
package struct OSSState: Sendable {
    /// A part of an upload.
    package struct PartName: Hashable, Sendable {
        package let uploadID: String
        package let number: Int
    }

    /// All requests in the order in which they began.
    package internal(set) var log: [OSSLogEntry] = []
    /// The total number of body bytes read.
    package internal(set) var bodyBytes = 0
    /// The number of requests that have not ended.
    package internal(set) var inFlight = 0
    /// The maximum number of concurrent requests.
    package internal(set) var peakInFlight = 0
    /// The counts of each part.
    package internal(set) var counts: [PartName: OSSPartCount] = [:]
    /// The incomplete uploads by ID.
    package internal(set) var uploads: [String: OSSOpenUpload] = [:]
    /// The IDs of the aborted uploads.
    package internal(set) var aborted: [String] = []
    var objects: [ObjectName: OSSObject] = [:]
    var faults: [OSSFaultRule] = []
    var skew: OSSSkew?
    var nextUpload = 1

    /// Returns an object.
    package func object(_ key: String, in bucket: String = "examplebucket") -> OSSObject? {
        objects[ObjectName(bucket: bucket, key: Array(key.utf8))]
    }

    /// Returns the keys of a bucket, sorted.
    package func keys(in bucket: String = "examplebucket") -> [String] {
        objects.keys.filter { $0.bucket == bucket }.map(\.key.text).sorted()
    }

    /// All objects with their buckets and keys.
    package var allObjects: [(bucket: String, key: String, object: OSSObject)] {
        objects.map { ($0.key.bucket, $0.key.key.text, $0.value) }.sorted { ($0.bucket, $0.key) < ($1.bucket, $1.key) }
    }

    /// Returns the requests of an operation.
    package func log(_ operation: OSSOperation) -> [OSSLogEntry] { log.filter { $0.operation == operation } }
}
