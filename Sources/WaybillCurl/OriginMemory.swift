import WaybillCore

/// The URL that was checked last, and its origin: uploads mostly go where the one before went.
struct OriginMemory {
    private var last: (url: String, origin: String)?

    /// What ``RequestCheck/check(_:)`` does, without taking the same URL apart again.
    mutating func check(_ request: TransferRequest) throws(TransferError) -> String {
        let origin: String
        if let last, last.url.hasBytes(of: request.url) {
            origin = last.origin
        } else {
            origin = try RequestCheck.origin(of: request.url)
            last = (request.url, origin)
        }
        try RequestCheck.check(request, origin: origin)
        return origin
    }
}

extension String {
    /// Whether its UTF-8 is the same: two URLs that `==` calls equal may be two.
    fileprivate func hasBytes(of other: String) -> Bool {
        unsafe utf8.withContiguousStorageIfAvailable { bytes in
            unsafe other.utf8.withContiguousStorageIfAvailable { unsafe bytes.elementsEqual($0) } ?? false
        } ?? false
    }
}
