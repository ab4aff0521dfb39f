internal import CWaybillCurl

/// Which libcurl this process runs on, for reports of what is at hand.
public struct CurlLibrary: Sendable {
    /// The version: `7.88.1`.
    public let version: String
    /// The TLS library and its version, or `nil` when libcurl was built without.
    public let tls: String?
    /// The PEM file with the authorities that are trusted by default, or `nil` when none was built in.
    public let certificateAuthorities: String?
    /// Whether name look-ups run beside the engine's thread. Without it a slow name server delays every transfer.
    public let hasAsynchronousNameLookup: Bool
    /// Whether HTTP/2 is there.
    public let hasHTTP2: Bool

    /// The library that is loaded.
    public static var loaded: CurlLibrary {
        let info = unsafe curl_version_info(wb_version_now).pointee
        func text(_ pointer: UnsafePointer<CChar>?) -> String? { unsafe pointer.map { unsafe String(cString: $0) } }
        return unsafe CurlLibrary(
            version: text(info.version) ?? "?", tls: text(info.ssl_version),
            certificateAuthorities: text(info.cainfo),
            hasAsynchronousNameLookup: info.features & CURL_VERSION_ASYNCHDNS != 0,
            hasHTTP2: info.features & CURL_VERSION_HTTP2 != 0)
    }

    /// Whether it is recent enough: 7.87 or later, for its way to leave a name look-up behind (`CURLOPT_QUICK_EXIT`).
    public static var isSupported: Bool {
        number >= 0x07_57_00
    }

    /// Whether it leaves it to whoever it asks when a body of known length ends. Since 8.7 it counts for itself, and takes a
    /// body for cut of which it was not handed every byte.
    package static let takesOurWordForTheEnd = number < 0x08_07_00

    /// Whether it writes the head of a request together with the first bytes of the body, as it does since 8.7.
    static let joinsHeadAndBody = number >= 0x08_07_00

    /// Whether `CURLINFO_REQUEST_SIZE` counts the body too, as it does since 8.8. Before that it counts the head only.
    static let countsBodyInRequestSize = number >= 0x08_08_00

    /// Whether it ignores the prefixes of `CURLOPT_INTERFACE` (`if!`, `host!`, `ifhost!`) when it looks for a connection to
    /// reuse, as it does since 8.9.
    static let reusesBoundConnections = number >= 0x08_09_00

    private static var number: UInt32 { unsafe curl_version_info(wb_version_now).pointee.version_num }
}
