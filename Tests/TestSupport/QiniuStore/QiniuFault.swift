/// The operation that a request performs on a ``QiniuStore``.
package enum QiniuStoreOperation: String, Sendable, Hashable, CaseIterable {
    case form, begin, part, complete, list, abort, regions, stat, unknown
}

/// A fault of a ``QiniuStore`` as a value.
///
/// ```swift
/// store.fail(.refuse(400, "incorrect region, please use up-z2.qiniup.com"), on: .form)
/// store.fail(.refuse(503, ""), on: .part, part: 3, times: 2)
/// ```
package enum QiniuFault: Sendable {
    /// Responds with a status and an error before storing anything.
    case refuse(Int, String)
    /// Stores the object, and responds with `579` for a failed callback.
    case callbackFailed
    /// Responds like a captive portal: `200` with a page, without `X-Reqid`. Nothing is stored.
    case captivePortal
    /// Resets the connection after the given number of body bytes.
    case drop(afterBodyBytes: Int)
    /// Stops reading after the given number of body bytes, without a response.
    case stall(afterBodyBytes: Int)
    /// Stores the object and then closes the connection without a response.
    case storeThenDrop
    /// Stores the object; the hash in the response is that of other bytes.
    case wrongHash
    /// Stores the part; the MD5 in the response is that of other bytes.
    case wrongMD5
    /// Responds with `612` as if the upload did not exist, and removes it.
    case forget
    /// The clock of the store is ahead by a number of seconds. Its responses have a `Date`, unless `hasDate` is `false`.
    case clockAhead(seconds: Int, hasDate: Bool = true)
    /// Stores the object; the response is not JSON.
    case gibberish
}

/// A fault with the requests it applies to.
struct QiniuFaultRule: Sendable {
    var fault: QiniuFault
    var operations: Set<QiniuStoreOperation>
    var part: Int?
    /// The host with the fault; `nil` for all.
    var host: Int?
    /// The remaining number of times; `nil` for no limit.
    var times: Int?

    func applies(to call: QiniuCall, host: Int) -> Bool {
        operations.contains(call.operation) && (part == nil || part == call.part) && times != 0
            && (self.host == nil || self.host == host)
    }
}
