public import HTTPTypes
public import Logging
public import WaybillCore

extension UploadSession {
    /// What all uploads of a session have in common.
    ///
    /// ```swift
    /// var configuration = UploadSession.Configuration()
    /// configuration.slots = 16
    /// configuration.headers[.authorization] = "Bearer \(token)"
    /// let session = UploadSession(configuration: configuration)
    /// ```
    public struct Configuration: Sendable {
        // Dependencies.

        /// Where to log, or `nil` to be silent. Messages are static, the facts are metadata, every line has the
        /// upload's id; levels are debug and trace.
        public var logger: Logger?
        /// What the waits between attempts and the rate are measured with. A test hands in a `ManualClock`.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// The random numbers in 0...1 of the waits between attempts.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0...1) }
        /// The random bits of idempotency keys.
        package var randomBits: @Sendable () -> (UInt64, UInt64) = {
            (.random(in: .min ... .max), .random(in: .min ... .max))
        }

        // Options.

        /// The most transfers at once, 1 or more. More of them rarely send faster: they share one line. 8 by default.
        ///
        /// As many connections are kept open for uploads to come, and 16 at least.
        public var slots = 8
        /// The most transfers at once to one host and port, 1 or more. 5 by default.
        public var slotsPerHost = 5
        /// How many places in line a step of priority is worth, 0 or more: an upload is overtaken by no more later ones for
        /// each step that they are above it. 100 by default.
        public var priorityReach = 100
        /// How many retries each host gets from all uploads of the session together, or `nil` for as many as the uploads'
        /// policies want.
        public var retryBudget: RetryBudget? = .standard
        // Control.

        /// The most bytes per second that the bodies of all uploads together may take, or `nil` for no limit. It can be
        /// changed later by ``UploadSession/limit(to:)``.
        public var rateLimit: ByteCount?
        /// How long a paused upload keeps its slot and its connection, zero or more. After it the connection is closed, and
        /// the upload starts anew when it is resumed: see ``UploadTask/pause()``. 20 seconds by default; servers rarely
        /// wait much longer.
        public var pauseKeepsSlot: Duration = .seconds(20)

        // What uploads start with.

        /// What uploads use that bring no options of their own.
        public var options = UploadOptions()
        /// Header fields of every request. An upload's own fields of the same name take their place.
        public var headers: HTTPFields = [:]
        /// The value of `User-Agent`, or `nil` to send none. A header field of that name wins.
        public var userAgent: String? = "Waybill"

        // What is joined with every upload; UploadOptions.omits leaves it out.

        /// What relative locations are relative to, or `nil` to take absolute ones only. Without query and fragment.
        ///
        /// They are joined as RFC 3986 section 5.2 has it, like links of a web page: so end it with a slash.
        ///
        /// | base | location | goes to |
        /// | --- | --- | --- |
        /// | `https://h/api/` | `upload` | `https://h/api/upload` |
        /// | `https://h/api` | `upload` | `https://h/upload` |
        /// | `https://h/api/` | `/upload` | `https://h/upload` |
        /// | `https://h/api/` | `https://other/x` | `https://other/x` |
        public var baseURL: (any UploadLocation)?
        /// Parts at the beginning of every form.
        public var commonFields: CommonFields?
        /// Who has a say in every upload, in this order.
        public var interceptors: [any UploadInterceptor] = []
        /// How long one interceptor may take for one call. 30 s by default.
        public var interceptorLimit: Duration = .seconds(30)
        /// Where cookies are kept, or `nil` to neither keep nor send any.
        public var cookies: CookieJar?

        /// The defaults.
        public init() {}
    }
}

extension UploadSession.Configuration: CustomReflectable {
    /// The options; header values only where they are known to be harmless.
    public var customMirror: Mirror {
        let fields = headers.map { "\($0.name): \(Redaction.value(of: $0))" }
        return Mirror(
            self,
            children: [
                "slots": slots, "slotsPerHost": slotsPerHost, "retryBudget": retryBudget as Any, "options": options,
                "headers": fields, "baseURL": baseURL.map { Redaction.url($0.uploadURL) } as Any,
                "interceptors": interceptors.map(\.name),
            ],
            displayStyle: .struct)
    }
}
