/// What a request asks of a ``QiniuStore``.
package enum QiniuStoreOperation: String, Sendable, Hashable, CaseIterable {
    case form, begin, part, complete, list, abort, regions, unknown
}

/// What a ``QiniuStore`` does wrong, as a value.
///
/// ```swift
/// store.fail(.refuse(400, "incorrect region, please use up-z2.qiniup.com"), on: .form)
/// store.fail(.refuse(503, ""), on: .part, part: 3, times: 2)
/// ```
package enum QiniuFault: Sendable {
    /// A status with an error, before anything is stored.
    case refuse(Int, String)
    /// All is stored, and `579` says that the callback failed.
    case callbackFailed
    /// Somebody in between answers: `200` with a page, without `X-Reqid`. Nothing is stored.
    case captivePortal
    /// The connection is reset after so many bytes of the body.
    case drop(afterBodyBytes: Int)
    /// Nothing more is read after so many bytes of the body, and nothing is said.
    case stall(afterBodyBytes: Int)
    /// All is stored, and then the connection ends without an answer.
    case storeThenDrop
    /// All is stored; the hash in the answer is that of other bytes.
    case wrongHash
    /// The part is stored; the MD5 in the answer is that of other bytes.
    case wrongMD5
    /// `612` as if nobody had begun the upload; it is gone, too.
    case forget
    /// All is stored; the answer is no JSON.
    case gibberish
}

/// A fault with the requests it befalls.
struct QiniuFaultRule: Sendable {
    var fault: QiniuFault
    var operations: Set<QiniuStoreOperation>
    var part: Int?
    /// The host that has it; `nil` for all.
    var host: Int?
    /// How often still; `nil` for ever.
    var times: Int?

    func befalls(_ call: QiniuCall, host: Int) -> Bool {
        operations.contains(call.operation) && (part == nil || part == call.part) && times != 0
            && (self.host == nil || self.host == host)
    }
}
