import WaybillCore

/// The URL that was checked last, and its origin: uploads mostly go where the one before went.
struct OriginMemory {
    private var last: (url: String, origin: String)?

    /// What ``RequestCheck/check(_:)`` does, without taking the same URL apart again.
    mutating func check(_ request: TransferRequest) throws(TransferError) -> String {
        let origin: String
        // Byte by byte: two URLs that String calls equal may be two.
        if let last, last.url.utf8.elementsEqual(request.url.utf8) {
            origin = last.origin
        } else {
            origin = try RequestCheck.origin(of: request.url)
            last = (request.url, origin)
        }
        try RequestCheck.check(request, origin: origin)
        return origin
    }
}
