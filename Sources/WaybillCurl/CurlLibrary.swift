internal import CWaybillCurl

/// The libcurl that is loaded in this process and its features.
public struct CurlLibrary: Sendable {
    /// The version, such as `7.88.1`.
    public let version: String
    /// The TLS library and its version, or `nil` if libcurl was built without TLS.
    public let tls: String?
    /// The PEM file with the default certificate authorities, or `nil` if libcurl has no built-in path.
    public let certificateAuthorities: String?
    /// Whether names are resolved asynchronously. If not, a slow name server delays every transfer.
    public let hasAsynchronousNameLookup: Bool
    /// Whether HTTP/2 is supported.
    public let hasHTTP2: Bool

    /// The loaded library.
    public static var loaded: CurlLibrary {
        let info = unsafe curl_version_info(wb_version_now).pointee
        func text(_ pointer: UnsafePointer<CChar>?) -> String? { unsafe pointer.map { unsafe String(cString: $0) } }
        return unsafe CurlLibrary(
            version: text(info.version) ?? "?", tls: text(info.ssl_version),
            certificateAuthorities: text(info.cainfo),
            hasAsynchronousNameLookup: info.features & CURL_VERSION_ASYNCHDNS != 0,
            hasHTTP2: info.features & CURL_VERSION_HTTP2 != 0)
    }

    /// Whether the version is supported: 7.87 or later, which can abandon a name lookup (`CURLOPT_QUICK_EXIT`).
    public static var isSupported: Bool {
        number >= 0x07_57_00
    }

    /// Whether libcurl writes the head of a request together with the first bytes of the body, as it does since 8.7.
    static let joinsHeadAndBody = number >= 0x08_07_00

    /// Whether `CURLINFO_REQUEST_SIZE` includes the body, as it does since 8.8. Before, it counts only the head.
    static let countsBodyInRequestSize = number >= 0x08_08_00

    /// Whether libcurl ignores the prefixes of `CURLOPT_INTERFACE` (`if!`, `host!`, `ifhost!`) when it selects a
    /// connection to reuse, as it does since 8.9.
    static let reusesBoundConnections = number >= 0x08_09_00

    private static var number: UInt32 { unsafe curl_version_info(wb_version_now).pointee.version_num }
}
