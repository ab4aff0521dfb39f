// What `print` and `dump` show of the values that carry credentials on their way to a transport: the harmless half.

import HTTPTypes

extension TransferRequest: CustomReflectable {
    /// Id, method and the names of the header fields. URL and header values may hold credentials.
    public var customMirror: Mirror {
        Mirror(
            self, children: ["id": "\(id)", "method": "\(method)", "headers": headers.map { "\($0.name)" }],
            displayStyle: .struct)
    }
}

extension TransferOptions: CustomReflectable {
    /// All options; a proxy that brings its user and password along is not shown.
    public var customMirror: Mirror {
        let shown = proxy.map { $0.contains("@") ? Secret.placeholder : $0 }
        return Mirror(
            self,
            children: [
                "limits": limits, "rateLimit": rateLimit as Any, "httpVersion": httpVersion,
                "expectContinue": expectContinue, "tls": tls, "proxy": shown as Any,
                "proxyCredential": proxyCredential as Any, "proxyExceptions": proxyExceptions, "proxyTLS": proxyTLS,
                "resolve": resolve, "addressFamily": addressFamily, "unixSocket": unixSocket as Any,
                "curlOptions": curlOptions,
            ],
            displayStyle: .struct)
    }
}
