internal import CTestSupport
internal import Crypto
internal import WaybillCore

/// What a ``QiniuStore`` keeps of the bytes of a part or an object.
package struct QiniuBytes: Sendable, Hashable {
    package var size = 0
    /// Lower-case hexadecimal digits.
    package var md5 = ""
    package var crc32: UInt32 = 0
    /// The SHA-1 of each block of 4 MiB; without bytes that of one empty block.
    package var blocks: [[UInt8]] = []
    /// The bytes; `nil` if there were too many to keep.
    package var bytes: [UInt8]?

    /// The hash according to the published rule.
    package var etag: String {
        let digest =
            blocks.count == 1 ? [0x16] + blocks[0] : [0x96] + Array(Insecure.SHA1.hash(data: blocks.flatMap(\.self)))
        return QiniuText.base64(digest)
    }

    package init() {}

    /// Creates the record of existing bytes.
    package init(of bytes: [UInt8]) {
        let intake = QiniuIntake(keepsUpTo: .max)
        intake.take(bytes)
        self = intake.stored
    }
}

/// A body being received.
final class QiniuIntake: Sendable {
    private struct Sums {
        var md5 = Insecure.MD5()
        var crc32: UInt32 = 0
        var block = Insecure.SHA1()
        var inBlock = 0
        var blocks: [[UInt8]] = []
        var size = 0
        var bytes: [UInt8]? = []
    }

    private static let blockSize = 4 << 20
    private let sums = Locked(Sums())
    private let limit: Int

    init(keepsUpTo limit: Int) { self.limit = limit }

    func take(_ bytes: [UInt8]) {
        sums.withLock { sums in
            sums.md5.update(data: bytes)
            sums.crc32 = unsafe bytes.withUnsafeBytes { buffer in
                unsafe buffer.baseAddress.map { unsafe cts_crc32(sums.crc32, $0, buffer.count) } ?? sums.crc32
            }
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Self.blockSize - sums.inBlock)
                sums.block.update(data: piece)
                sums.inBlock += piece.count
                rest = rest.dropFirst(piece.count)
                if sums.inBlock == Self.blockSize {
                    sums.blocks.append(Array(sums.block.finalize()))
                    sums.block = Insecure.SHA1()
                    sums.inBlock = 0
                }
            }
            sums.size += bytes.count
            if sums.size > limit { sums.bytes = nil } else { sums.bytes! += bytes }
        }
    }

    var stored: QiniuBytes {
        sums.withLock { sums in
            var result = QiniuBytes()
            result.size = sums.size
            result.md5 = StoreText.hex(sums.md5.finalize())
            result.crc32 = sums.crc32
            result.blocks = sums.blocks
            if sums.inBlock > 0 || sums.blocks.isEmpty { result.blocks.append(Array(sums.block.finalize())) }
            result.bytes = sums.bytes
            return result
        }
    }
}

/// An object of a ``QiniuStore``.
package struct QiniuStoredObject: Sendable {
    package var content = QiniuBytes()
    /// The hash that the store returns: that of the bytes, or another one if the parts are irregular.
    package var hash = ""
    package var type = ""
    package var fileName = ""
    package var metadata: [String: String] = [:]
    package var variables: [String: String] = [:]
    /// The fields of the form that created it, by name.
    package var fields: [String: String] = [:]
    /// How often it was created.
    package var timesStored = 0
}

/// An incomplete upload in parts.
package struct QiniuOpenUpload: Sendable {
    package let bucket: String
    /// `nil` if the store generates the key.
    package let key: [UInt8]?
    package let expires: Int
    package var parts: [Int: QiniuBytes] = [:]
}

/// A part of an upload.
package struct QiniuPartName: Hashable, Sendable {
    package let uploadID: String
    package let number: Int
}

/// How often a part was sent.
package struct QiniuPartCount: Sendable, Hashable {
    /// The number of requests that began.
    package var begun = 0
    /// The number of requests whose part was stored.
    package var stored = 0
    /// The number of requests that began when the part was already stored, so that the list would have contained it.
    package var resentAfterStored = 0
    package var inFlight = 0
    package var peakInFlight = 0
}

/// A request in the log of a ``QiniuStore``.
package struct QiniuLogEntry: Sendable {
    package let operation: QiniuStoreOperation
    /// The host of the store that received it.
    package let host: Int
    package let bucket: String
    package let part: Int?
    package let uploadID: String?
    /// The request line and the fields as received.
    package let lines: [String]
    package var bodyBytes = 0
    /// The status of the response; `nil` if none has been sent.
    package var status: Int?
    /// The upload token of the request.
    package var token = ""
    package var isOver = false
}

/// The contents and the log of a ``QiniuStore``.
package struct QiniuState: Sendable {
    struct Name: Hashable, Sendable {
        var bucket: String
        var key: [UInt8]
    }

    /// All requests in the order in which they began.
    package internal(set) var log: [QiniuLogEntry] = []
    /// The total number of body bytes read.
    package internal(set) var bodyBytes = 0
    package internal(set) var inFlight = 0
    /// The maximum number of concurrent requests.
    package internal(set) var peakInFlight = 0
    package internal(set) var counts: [QiniuPartName: QiniuPartCount] = [:]
    package internal(set) var uploads: [String: QiniuOpenUpload] = [:]
    package internal(set) var aborted: [String] = []
    var objects: [Name: QiniuStoredObject] = [:]
    var faults: [QiniuFaultRule] = []
    var nextUpload = 1

    /// Returns an object.
    package func object(_ key: String, in bucket: String = "photos") -> QiniuStoredObject? {
        objects[Name(bucket: bucket, key: Array(key.utf8))]
    }

    /// Returns the keys of a bucket, sorted.
    package func keys(in bucket: String = "photos") -> [String] {
        objects.keys.filter { $0.bucket == bucket }.map(\.key.text).sorted()
    }

    /// All objects with their buckets and keys.
    package var allObjects: [(bucket: String, key: String, object: QiniuStoredObject)] {
        objects.map { ($0.key.bucket, $0.key.key.text, $0.value) }.sorted { ($0.bucket, $0.key) < ($1.bucket, $1.key) }
    }

    /// Returns the requests of an operation.
    package func log(_ operation: QiniuStoreOperation) -> [QiniuLogEntry] { log.filter { $0.operation == operation } }
}
