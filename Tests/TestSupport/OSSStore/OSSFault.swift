/// What an ``OSSStore`` does wrong, as a value.
///
/// ```swift
/// store.fail(.busy(), on: .uploadPart, times: 2)
/// store.fail(.noSuchUpload, on: .uploadPart, part: 3)
/// ```
package enum OSSFault: Sendable {
    /// `503`, before anything is stored, with `Retry-After` in seconds if one is told.
    case busy(retryAfter: Int? = nil)
    /// The connection is reset after so many bytes of the body.
    case drop(afterBodyBytes: Int)
    /// Nothing more is read after so many bytes of the body, and nothing is said.
    case stall(afterBodyBytes: Int)
    /// All is stored; `x-oss-hash-crc64ecma` is that of other bytes.
    case wrongChecksum
    /// All is stored, and `203` says that the callback failed.
    case callbackFailed
    /// `404` as if the multipart upload had been aborted; it is aborted, too.
    case noSuchUpload
    /// `403` as if the security token had run out.
    case tokenExpired
    /// `403` as if the policy of the account left this out.
    case denied
    /// `417` to `Expect: 100-continue`, without a byte of the body read. Other requests are served.
    case refuseContinue
    /// A page instead of an answer, as a proxy has them.
    case html(status: Int)
    /// All is stored, and then the connection ends without an answer.
    case storeThenDrop
    /// All is stored, and the answer is this text instead of what it should be.
    case xml(status: Int, HostileXML)

    /// Markup made to harm its reader.
    package enum HostileXML: String, Sendable, CaseIterable {
        /// Entities that grow to gigabytes ("billion laughs").
        case entities
        /// An external entity that names a file.
        case externalEntity
        /// A hundred thousand elements, each in the other.
        case deep
        /// Megabytes of attributes.
        case wide
        /// An element that is not closed.
        case cut
        /// Bytes that are no UTF-8.
        case notText
    }
}

/// How the clock of an ``OSSStore`` runs beside the true one, and what it tells of it.
package struct OSSSkew: Sendable {
    package enum Telling: Sendable, CaseIterable {
        /// The refusal has `ServerTime`, and the answer a true `Date`.
        case serverTime
        /// The refusal has no `ServerTime`; `Date` is true.
        case dateOnly
        /// The refusal has no `ServerTime`; `Date` is the first of January 1970.
        case dateOf1970
        /// The refusal has `ServerTime`; `Date` is the first of January 1970.
        case serverTimeAndDateOf1970
        /// To version 4: `400 InvalidArgument`, "Invalid signing date in Authorization header."; `Date` is true.
        case invalidSigningDate
    }

    /// How far the store's clock is ahead, in seconds.
    package var seconds: Int
    package var telling: Telling

    package init(seconds: Int, telling: Telling) {
        self.seconds = seconds
        self.telling = telling
    }

    var hasServerTime: Bool { telling == .serverTime || telling == .serverTimeAndDateOf1970 }
    var hasTrueDate: Bool { telling != .dateOf1970 && telling != .serverTimeAndDateOf1970 }
}

extension OSSFault.HostileXML {
    var bytes: [UInt8] {
        let head = "<?xml version=\"1.0\"?>\n"
        switch self {
        case .entities:
            var lines = "<!ENTITY a0 \"ha\">\n"
            for level in 1...30 {
                lines += "<!ENTITY a\(level) \"\(String(repeating: "&a\(level - 1);", count: 10))\">\n"
            }
            return Array("\(head)<!DOCTYPE Error [\n\(lines)]>\n<Error><Code>&a30;</Code></Error>".utf8)
        case .externalEntity:
            return Array(
                """
                \(head)<!DOCTYPE Error [<!ENTITY x SYSTEM "file:///etc/passwd">]>
                <InitiateMultipartUploadResult><UploadId>&x;</UploadId></InitiateMultipartUploadResult>
                """.utf8)
        case .deep:
            return Array((head + String(repeating: "<a>", count: 100_000)).utf8)
        case .wide:
            return Array((head + "<Error " + String(repeating: "a=\"b\" ", count: 500_000) + "/>").utf8)
        case .cut:
            return Array("\(head)<InitiateMultipartUploadResult><UploadId>0004B9".utf8)
        case .notText:
            return Array("\(head)<InitiateMultipartUploadResult><UploadId>".utf8) + [0xff, 0xfe, 0x00, 0xc3]
                + Array("</UploadId></InitiateMultipartUploadResult>".utf8)
        }
    }
}

/// A fault with the requests it befalls.
struct OSSFaultRule: Sendable {
    var fault: OSSFault
    var operations: Set<OSSOperation>
    var part: Int?
    /// How often still; `nil` for ever.
    var times: Int?

    func befalls(_ call: OSSCall) -> Bool {
        operations.contains(call.operation) && (part == nil || part == call.partNumber) && times != 0
    }
}
