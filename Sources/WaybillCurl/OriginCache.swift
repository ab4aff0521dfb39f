import WaybillCore

/// A cache of the most recently checked URL and its origin: consecutive uploads usually have the same URL.
struct OriginCache {
    private var last: (url: String, origin: String)?

    /// Checks a request like ``RequestCheck/check(_:)``, without parsing the same URL again.
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
    /// Returns whether the UTF-8 bytes are equal: `==` also treats canonically equivalent but different URLs as equal.
    fileprivate func hasBytes(of other: String) -> Bool {
        unsafe utf8.withContiguousStorageIfAvailable { bytes in
            unsafe other.utf8.withContiguousStorageIfAvailable { unsafe bytes.elementsEqual($0) } ?? false
        } ?? false
    }
}
