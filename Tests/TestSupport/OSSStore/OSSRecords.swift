internal import CTestSupport
internal import Crypto
internal import Glibc
internal import WaybillCore

/// What a store keeps of the bytes of a body, of a part or of an object.
package struct StoredBytes: Sendable, Hashable {
    package var size = 0
    /// Of the bytes, in upper-case hexadecimal digits.
    package var md5 = ""
    /// CRC-64/XZ.
    package var crc64: UInt64 = 0
    /// The bytes; `nil` when there were too many to keep them.
    package var bytes: [UInt8]?
}

extension StoredBytes {
    /// What a store would keep of these bytes.
    package init(of bytes: [UInt8]) { self = BodyIntake.stored(bytes) }

    /// What a store would keep of a piece of a file.
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

/// A body on its way into the store: digests, and the bytes while they are few.
final class BodyIntake: Sendable {
    private struct Sums {
        var md5 = Insecure.MD5()
        var crc64: UInt64 = 0
        var size = 0
        var bytes: [UInt8]? = []
    }

    private let sums = Locked(Sums())
    private let limit: Int

    init(keepsUpTo limit: Int) { self.limit = limit }

    func take(_ bytes: [UInt8]) {
        sums.withLock { sums in
            sums.md5.update(data: bytes)
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
                bytes: sums.bytes)
        }
    }

    /// What a store keeps of bytes that are there already.
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
    /// Of the whole; its `md5` is empty unless it came in one piece.
    package var content = StoredBytes()
    /// With its quotation marks left out.
    package var etag = ""
    /// The parts it was put together of, by their numbers.
    package var parts: [Int: StoredBytes] = [:]
    /// The fields of the request that made it, with lower-case names: `x-oss-meta-author`, `content-type`.
    package var fields: [String: String] = [:]
    /// How often it was made: by Put, Post, Complete or the first Append.
    package var timesMade = 0
    /// What the callback server was told when it was made, variables filled in; `nil` without a callback.
    package var callback: String?
}

/// A multipart upload of an ``OSSStore`` that is not complete.
package struct OSSOpenUpload: Sendable {
    package let bucket: String
    package let key: [UInt8]
    package var parts: [Int: StoredBytes] = [:]
    var fields: [String: String]
}

/// How often a part was sent.
package struct OSSPartCount: Sendable, Hashable {
    /// Requests that began.
    package var begun = 0
    /// Requests whose part was stored.
    package var stored = 0
    /// Requests that began when the part was stored already, so that ListParts would have named it.
    package var begunThoughStored = 0
    /// Requests whose end has not come.
    package var inFlight = 0
    /// The most of those at one time.
    package var peakInFlight = 0
}

/// A request as an ``OSSStore`` remembers it.
package struct OSSLogEntry: Sendable {
    package let operation: OSSOperation
    package let bucket: String?
    package let key: String
    package let partNumber: Int?
    package let uploadID: String?
    /// Request line and fields as they came.
    package let lines: [String]
    /// How it was signed; `none` when it was refused before that was known.
    package var signature = OSSSignatureKind.none
    /// How many bytes of its body were read.
    package var bodyBytes = 0
    /// The status that it was answered with; `nil` when no answer was sent (yet).
    package var status: Int?
    /// The code of the error that it was answered with.
    package var code: String?
    /// Whether it is over, with or without an answer.
    package var isOver = false

    /// A field of it.
    package func value(of name: String) -> String? {
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name.lowercased() else {
                continue
            }
            return String(line[line.index(after: colon)...].trimmingBlanks)
        }
        return nil
    }
}

/// What an ``OSSStore`` has and has seen.
package struct OSSState: Sendable {
    /// A part of an upload.
    package struct PartName: Hashable, Sendable {
        package let uploadID: String
        package let number: Int
    }

    /// All requests, in the order in which they began.
    package internal(set) var log: [OSSLogEntry] = []
    /// How many bytes of bodies were read in all.
    package internal(set) var bodyBytes = 0
    /// Requests whose end has not come.
    package internal(set) var inFlight = 0
    /// The most of those at one time.
    package internal(set) var peakInFlight = 0
    /// How often each part was sent.
    package internal(set) var counts: [PartName: OSSPartCount] = [:]
    /// Uploads that are not complete, by their IDs.
    package internal(set) var uploads: [String: OSSOpenUpload] = [:]
    /// How often an upload was aborted.
    package internal(set) var aborted: [String] = []
    var objects: [ObjectName: OSSObject] = [:]
    var faults: [OSSFaultRule] = []
    var skew: OSSSkew?
    var nextUpload = 1

    /// An object.
    package func object(_ key: String, in bucket: String = "examplebucket") -> OSSObject? {
        objects[ObjectName(bucket: bucket, key: Array(key.utf8))]
    }

    /// The keys of a bucket, sorted.
    package func keys(in bucket: String = "examplebucket") -> [String] {
        objects.keys.filter { $0.bucket == bucket }.map(\.key.text).sorted()
    }

    /// All objects with their buckets and keys.
    package var allObjects: [(bucket: String, key: String, object: OSSObject)] {
        objects.map { ($0.key.bucket, $0.key.key.text, $0.value) }.sorted { ($0.bucket, $0.key) < ($1.bucket, $1.key) }
    }

    /// The requests of a kind.
    package func log(_ operation: OSSOperation) -> [OSSLogEntry] { log.filter { $0.operation == operation } }
}
