import WaybillCore

extension TransferRequest {
    /// Whether the URL says so.
    var isOverTLS: Bool { Self.isHTTPS(url) }

    /// Whether the proxy is spoken to over TLS.
    var hasProxyOverTLS: Bool { options.proxy.map(Self.isHTTPS) ?? false }

    /// Whether what the kernel is given are records of TLS.
    var isSealed: Bool { isOverTLS || hasProxyOverTLS }

    /// By the letters before the first colon, in any case; without a slice, for every transfer asks this several times.
    private static func isHTTPS(_ url: String) -> Bool {
        var letters = url.utf8.makeIterator()
        for expected in "https:".utf8 {
            guard let letter = letters.next(), letter | 0x20 == expected | 0x20 else { return false }
        }
        return true
    }
}
