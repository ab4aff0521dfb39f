public import HTTPTypes
public import WaybillCore

/// A transport without sockets: it reads the body as a real transport does, at the pace of a script, and simulates a
/// server. For tests of code that uploads.
///
/// ```swift
/// let clock = ManualClock()
/// let transport = ScriptedTransport([.breaking(after: 10), .responding(.ok, body: #"{"id": 7}"#)])
/// var configuration = UploadSession.Configuration()
/// configuration.clock = clock             // no test waits for a retry
/// let session = UploadSession(configuration: configuration, transport: transport)
///
/// async let response = session.upload(form, to: "http://backend.example/upload")
/// await clock.sleepers(atLeast: 1)
/// clock.advance(by: .seconds(60))
/// #expect(try await response.attempts.count == 2)
/// #expect(try transport.transfers[1].form().text("BUSINESSNO") == "20260117-0042")
/// ```
///
/// ``script(_:where:)`` and ``script(_:method:path:)`` select the script for matching requests, and the initializer for
/// all others. Attempts run independently; events are delivered in order on threads of Swift's concurrency runtime.
/// Bodies are kept in memory unless `keepsBodies` is `false`.
///
/// The transport fulfils the contract of `UploadTransport` as far as a script can, and is itself tested with
/// ``TransportConformance``. It does not simulate the network: there are no timeouts and no rate limits, and no request
/// is rejected for its header fields.
public final class ScriptedTransport: UploadTransport {
    private struct Rule {
        let applies: @Sendable (TransferRequest) -> Bool
        let scripts: [TransferScript]
        var played = 0
    }

    private struct State {
        var rules: [Rule] = []
        var transfers: [RecordedTransfer] = []
        var running = 0
        var maxConcurrent = 0
        var runningByURL: [String: Int] = [:]
        var maxConcurrentByURL: [String: Int] = [:]
    }

    private let choose: @Sendable (TransferRequest, Int) -> TransferScript
    private let keepsBodies: Bool
    private let state = Locked(State())

    /// Creates a transport that plays the script that a closure selects for each request and its number, from 0.
    public init(
        keepsBodies: Bool = true,
        choosing choose: @escaping @Sendable (_ request: TransferRequest, _ number: Int) -> TransferScript
    ) {
        self.choose = choose
        self.keepsBodies = keepsBodies
    }

    /// Creates a transport that plays the scripts in order, and the last one for all further attempts.
    public convenience init(_ scripts: [TransferScript], keepsBodies: Bool = true) {
        self.init(keepsBodies: keepsBodies) { _, number in
            scripts.isEmpty ? .responding() : scripts[min(number, scripts.count - 1)]
        }
    }

    /// Creates a transport that plays one script for every attempt.
    public convenience init(_ script: TransferScript, keepsBodies: Bool = true) {
        self.init([script], keepsBodies: keepsBodies)
    }

    /// Plays scripts for matching requests in order, and the last one for all further matching requests.
    ///
    /// If several rules match, the first one applies.
    ///
    /// ```swift
    /// transport.script(.failing(.hostNotFound)) { $0.url.hasPrefix("https:") }
    /// ```
    public func script(
        _ scripts: TransferScript..., where applies: @escaping @Sendable (_ request: TransferRequest) -> Bool
    ) {
        state.withLock { $0.rules.append(Rule(applies: applies, scripts: scripts)) }
    }

    /// Plays scripts for requests to a path, which begins with a slash and has no query.
    ///
    /// ```swift
    /// transport.script(.redirecting(to: "/new"), path: "/old")
    /// transport.script(.unavailable(retryAfter: "2"), .responding(.created), method: .post, path: "/new")
    /// ```
    public func script(_ scripts: TransferScript..., method: HTTPRequest.Method? = nil, path: String) {
        let rule = Rule(
            applies: { $0.path == path && (method == nil || $0.method == method) }, scripts: scripts)
        state.withLock { $0.rules.append(rule) }
    }

    /// Starts an attempt. See `UploadTransport.start(_:sink:)`.
    public func start(_ request: TransferRequest, sink: any TransferSink) -> any TransferControl {
        let number = state.withLock { state in
            state.transfers.append(RecordedTransfer(request: request))
            state.running += 1
            state.maxConcurrent = max(state.maxConcurrent, state.running)
            let running = state.runningByURL[request.url, default: 0] + 1
            state.runningByURL[request.url] = running
            state.maxConcurrentByURL[request.url] = max(state.maxConcurrentByURL[request.url, default: 0], running)
            return state.transfers.count - 1
        }
        let attempt = ScriptedAttempt(
            request, ruledScript(for: request) ?? choose(request, number), sink: sink,
            record: { [self] bytes in record(bytes, number) }, onEnd: { [self] end in finish(end, number) })
        return ScriptedControl(task: Task { await attempt.run() }, control: attempt.control)
    }

    /// All attempts in the order in which they were started.
    public var transfers: [RecordedTransfer] { state.withLock { $0.transfers } }
    /// The number of attempts in progress.
    public var running: Int { state.withLock { $0.running } }
    /// The maximum number of concurrent attempts.
    public var maxConcurrent: Int { state.withLock { $0.maxConcurrent } }
    /// Returns the maximum number of concurrent attempts for a URL.
    public func maxConcurrent(to url: String) -> Int { state.withLock { $0.maxConcurrentByURL[url] ?? 0 } }

    /// Calls the predicates without holding the lock, because they are code of the test.
    private func ruledScript(for request: TransferRequest) -> TransferScript? {
        let rules = state.withLock { $0.rules }
        guard let index = rules.firstIndex(where: { !$0.scripts.isEmpty && $0.applies(request) }) else { return nil }
        return state.withLock { state in
            let rule = state.rules[index]
            state.rules[index].played += 1
            return rule.scripts[min(rule.played, rule.scripts.count - 1)]
        }
    }

    private func record(_ bytes: ArraySlice<UInt8>, _ number: Int) {
        state.withLock { state in
            state.transfers[number].bytesReceived += Int64(bytes.count)
            if keepsBodies { state.transfers[number].body += bytes }
        }
    }

    private func finish(_ end: TransferEnd, _ number: Int) {
        state.withLock { state in
            state.transfers[number].end = end
            state.running -= 1
            state.runningByURL[state.transfers[number].request.url, default: 1] -= 1
        }
    }
}

extension TransferRequest {
    /// The path of the URL, without its query: `/upload`.
    fileprivate var path: String {
        let afterScheme = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let path = afterScheme.drop { !"/?#".contains($0) }.prefix { !"?#".contains($0) }
        return path.isEmpty ? "/" : String(path)
    }
}
