/// A fault of an ``OSSStore`` as a value.
///
/// ```swift
/// store.fail(.busy(), on: .uploadPart, times: 2)
/// store.fail(.noSuchUpload, on: .uploadPart, part: 3)
/// ```
package enum OSSFault: Sendable {
    /// Responds with `503` before storing anything, with `Retry-After` in seconds if given.
    case busy(retryAfter: Int? = nil)
    /// Resets the connection after the given number of body bytes.
    case drop(afterBodyBytes: Int)
    /// Stops reading after the given number of body bytes, without a response.
    case stall(afterBodyBytes: Int)
    /// Stores the object, but returns an `x-oss-hash-crc64ecma` of other bytes.
    case wrongChecksum
    /// Stores the object, and responds with `203` for a failed callback.
    case callbackFailed
    /// Responds with `404` as if the multipart upload had been aborted, and aborts it.
    case noSuchUpload
    /// Responds with `403` as if the security token had expired.
    case tokenExpired
    /// Responds with `403` as if the policy of the account did not permit the request.
    case denied
    /// Responds with `417` to `Expect: 100-continue` without reading the body. Other requests are served.
    case refuseContinue
    /// Responds with an HTML page, as proxies do.
    case html(status: Int)
    /// Responds with an error before storing anything.
    case refused(status: Int, code: String)
    /// Stores the object and then closes the connection without a response.
    case storeThenDrop
    /// Stores the object and responds with this text.
    case xml(status: Int, HostileXML)

    /// XML intended to harm its reader.
    package enum HostileXML: String, Sendable, CaseIterable {
        /// Entities that expand to gigabytes ("billion laughs").
        case entities
        /// An external entity that refers to a file.
        case externalEntity
        /// A hundred thousand nested elements.
        case deep
        /// Megabytes of attributes.
        case wide
        /// An element that is not closed.
        case cut
        /// Bytes that are not valid UTF-8.
        case notText
    }
}

/// The deviation of the clock of an ``OSSStore``, and how the store reports it.
package struct OSSSkew: Sendable {
    package enum Report: Sendable, CaseIterable {
        /// The error has `ServerTime`, and the response a correct `Date`.
        case serverTime
        /// The error has no `ServerTime`; `Date` is correct.
        case dateOnly
        /// The error has no `ServerTime`; `Date` is 1 January 1970.
        case dateOf1970
        /// The error has `ServerTime`; `Date` is 1 January 1970.
        case serverTimeAndDateOf1970
        /// Version 4: `400 InvalidArgument`, "Invalid signing date in Authorization header."; `Date` is correct.
        case invalidSigningDate
    }

    /// How far the store's clock is ahead, in seconds.
    package var seconds: Int
    package var report: Report

    package init(seconds: Int, report: Report) {
        self.seconds = seconds
        self.report = report
    }

    var hasServerTime: Bool { report == .serverTime || report == .serverTimeAndDateOf1970 }
    var hasTrueDate: Bool { report != .dateOf1970 && report != .serverTimeAndDateOf1970 }
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

/// A fault with the requests it applies to.
struct OSSFaultRule: Sendable {
    var fault: OSSFault
    var operations: Set<OSSOperation>
    var part: Int?
    /// The remaining number of times; `nil` for no limit.
    var times: Int?

    func applies(to call: OSSCall) -> Bool {
        operations.contains(call.operation) && (part == nil || part == call.partNumber) && times != 0
    }
}
