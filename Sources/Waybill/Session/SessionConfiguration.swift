public import HTTPTypes
public import Logging
public import WaybillCore
import WaybillCurl

extension UploadSession {
    /// The configuration that all uploads of a session share.
    ///
    /// ```swift
    /// var configuration = UploadSession.Configuration()
    /// configuration.maximumConcurrentTransfers = 16
    /// configuration.headers[.authorization] = "Bearer \(token)"
    /// let session = UploadSession(configuration: configuration)
    /// ```
    public struct Configuration: Sendable {
        // Dependencies

        /// The logger, or `nil` for no logging. Messages are static and details are metadata. Every message has the ID
        /// of the upload. The levels are debug and trace.
        public var logger: Logger?
        /// The clock for retry delays and rates. Tests can pass a `ManualClock`.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// Returns random numbers in 0...1 for retry delays.
        package var jitter: @Sendable () -> Double = {
            var generator = BufferedRandomNumberGenerator()
            return Double.random(in: 0...1, using: &generator)
        }
        /// Returns the random bits of idempotency keys.
        package var randomBits: @Sendable () -> (UInt64, UInt64) = {
            var generator = BufferedRandomNumberGenerator()
            return (generator.next(), generator.next())
        }

        // Options

        /// The maximum number of concurrent transfers, 1 or more. A larger number rarely increases the throughput,
        /// because transfers share the bandwidth. Each running transfer occupies a *slot*. 8 by default.
        ///
        /// The same number of idle connections, but at least 16, is kept open for later uploads.
        public var maximumConcurrentTransfers = 8
        /// The maximum number of concurrent transfers to one host and port, 1 or more. 5 by default.
        public var maximumConcurrentTransfersPerHost = 5
        /// The number of queue positions that one step of priority is worth, 0 or more. For each step of difference, an
        /// upload can be overtaken by at most this number of later uploads. 100 by default.
        public var priorityReach = 100
        /// The number of retries for each host from all uploads of the session together, or `nil` to apply only the
        /// policies of the uploads.
        public var retryBudget: RetryBudget? = .standard
        // Control

        /// The maximum combined body rate of all uploads in bytes per second, or `nil` for no limit. To change it
        /// later, use ``UploadSession/limit(to:)``.
        public var rateLimit: ByteCount?
        /// The time for which a paused upload keeps its slot and its connection, zero or more. Then the connection is
        /// closed, and the upload starts again when it is resumed: see ``UploadTask/pause()``. 20 seconds by default,
        /// because servers rarely wait much longer.
        public var pauseKeepsSlot: Duration = .seconds(20)

        // Defaults for uploads

        /// The options of uploads that have no options of their own.
        public var options = UploadOptions()
        /// Header fields of every request. An upload's own fields with the same name replace them.
        public var headers: HTTPFields = [:]
        /// The value of `User-Agent`, or `nil` to send none. A header field with that name takes precedence.
        public var userAgent: String? = "Waybill"

        // Additions to every upload. UploadOptions.excludedDefaults excludes them.

        /// The base URL of relative locations, or `nil` to allow only absolute ones. Must not have a query or fragment.
        ///
        /// Locations are resolved according to RFC 3986 section 5.2, like links of a web page. A base URL should
        /// therefore end with a slash.
        ///
        /// | base | location | result |
        /// | --- | --- | --- |
        /// | `https://h/api/` | `upload` | `https://h/api/upload` |
        /// | `https://h/api` | `upload` | `https://h/upload` |
        /// | `https://h/api/` | `/upload` | `https://h/upload` |
        /// | `https://h/api/` | `https://other/x` | `https://other/x` |
        public var baseURL: (any UploadLocation)?
        /// Parts at the beginning of every form.
        public var commonFields: CommonFields?
        /// The interceptors of every upload, in this order.
        public var interceptors: [any UploadInterceptor] = []
        /// The time limit for one call of an interceptor. 30 s by default.
        public var interceptorLimit: Duration = .seconds(30)
        /// The storage for cookies, or `nil` to neither store nor send cookies.
        public var cookies: CookieJar?

        /// Creates the default configuration.
        public init() {}
    }
}

extension UploadSession.Configuration: CustomReflectable {
    /// The configuration. Header values are shown only if they are known to be harmless.
    public var customMirror: Mirror {
        let fields = headers.map { "\($0.name): \(Redaction.value(of: $0))" }
        return Mirror(
            self,
            children: [
                "maximumConcurrentTransfers": maximumConcurrentTransfers,
                "maximumConcurrentTransfersPerHost": maximumConcurrentTransfersPerHost,
                "retryBudget": retryBudget as Any, "options": options,
                "headers": fields, "baseURL": baseURL.map { Redaction.url($0.uploadURL) } as Any,
                "interceptors": interceptors.map(\.name),
            ],
            displayStyle: .struct)
    }
}

extension UploadSession.Configuration {
    /// Returns a value for ``userAgent`` that names a program and the libraries it uses: `Clerk/2.1 Waybill
    /// libcurl/7.88.1`.
    ///
    /// Characters that are not allowed in a product name (RFC 9110 section 5.6.2) are replaced with `-`; non-ASCII
    /// characters are removed.
    public static func userAgent(for program: String, version: String? = nil) -> String {
        var agent = token(program)
        if let version, !token(version).isEmpty { agent += "/\(token(version))" }
        return "\(agent.isEmpty ? "" : "\(agent) ")Waybill libcurl/\(CurlLibrary.loaded.version)"
    }

    private static func token(_ text: String) -> String {
        let bytes = text.utf8.filter { $0 < 0x80 }.map { byte -> UInt8 in
            let isLetter = (0x61...0x7A).contains(byte | 0x20)
            let isAllowed = isLetter || (0x30...0x39).contains(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            return isAllowed ? byte : UInt8(ascii: "-")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
