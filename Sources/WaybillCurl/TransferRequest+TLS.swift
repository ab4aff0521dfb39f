import WaybillCore

extension TransferRequest {
    /// Whether the URL's scheme is `https`.
    var isOverTLS: Bool { Self.isHTTPS(url) }

    /// Whether the connection to the proxy uses TLS.
    var hasProxyOverTLS: Bool { options.proxy.map(Self.isHTTPS) ?? false }

    /// Whether the bytes given to the kernel are TLS records.
    var sendsTLSRecords: Bool { isOverTLS || hasProxyOverTLS }

    /// Compares the scheme case-insensitively. Avoids a slice, because every transfer calls this several times.
    private static func isHTTPS(_ url: String) -> Bool {
        var letters = url.utf8.makeIterator()
        for expected in "https:".utf8 {
            guard let letter = letters.next(), letter | 0x20 == expected | 0x20 else { return false }
        }
        return true
    }
}
