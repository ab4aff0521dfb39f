public import WaybillCore

/// A transport that opens no socket: it reads the body as a real one does, at the pace of a script, and plays what a
/// server would do. For tests of code that uploads.
///
/// ```swift
/// let transport = ScriptedTransport([.breaking(after: 10), .answering(.ok, body: #"{"id": 7}"#)])
/// var configuration = UploadSession.Configuration()
/// configuration.clock = clock             // a ManualClock: no test waits for a retry
/// let session = UploadSession(configuration: configuration, transport: transport)
///
/// async let response = session.upload(form, to: "http://backend.example/upload")
/// await clock.sleepers(atLeast: 1)
/// clock.advance(by: .seconds(60))
/// #expect(try await response.attempts.count == 2)
/// #expect(transport.transfers[1].body.count == 1_234)
/// ```
///
/// Every attempt runs by itself; events come from the threads of Swift's concurrency, in order. Bodies are kept in
/// memory unless told otherwise.
public final class ScriptedTransport: UploadTransport {
    /// Chooses the script of an attempt: by its request and by how many were started before it.
    public typealias Choice = @Sendable (_ request: TransferRequest, _ number: Int) -> TransferScript

    private struct State {
        var transfers: [RecordedTransfer] = []
        var running = 0
        var mostAtOnce = 0
        var runningByURL: [String: Int] = [:]
        var mostAtOnceByURL: [String: Int] = [:]
    }

    private let choose: Choice
    private let keepsBodies: Bool
    private let state = Locked(State())

    /// Plays what the closure chooses.
    public init(keepsBodies: Bool = true, choosing choose: @escaping Choice) {
        self.choose = choose
        self.keepsBodies = keepsBodies
    }

    /// Plays the scripts one after the other, and the last one for all that follow.
    public convenience init(_ scripts: [TransferScript], keepsBodies: Bool = true) {
        self.init(keepsBodies: keepsBodies) { _, number in
            scripts.isEmpty ? .answering() : scripts[min(number, scripts.count - 1)]
        }
    }

    /// Plays one script for every attempt.
    public convenience init(_ script: TransferScript, keepsBodies: Bool = true) {
        self.init([script], keepsBodies: keepsBodies)
    }

    /// Starts an attempt.
    public func start(_ request: TransferRequest, sink: any TransferSink) -> any TransferControl {
        let number = state.withLock { state in
            state.transfers.append(RecordedTransfer(request: request))
            state.running += 1
            state.mostAtOnce = max(state.mostAtOnce, state.running)
            let running = state.runningByURL[request.url, default: 0] + 1
            state.runningByURL[request.url] = running
            state.mostAtOnceByURL[request.url] = max(state.mostAtOnceByURL[request.url, default: 0], running)
            return state.transfers.count - 1
        }
        let attempt = ScriptedAttempt(
            request, choose(request, number), sink: sink,
            record: { [self] bytes in record(bytes, number) }, isOver: { [self] end in isOver(end, number) })
        return ScriptedControl(task: Task { await attempt.run() })
    }

    /// Everything that was started, in that order.
    public var transfers: [RecordedTransfer] { state.withLock { $0.transfers } }
    /// How many attempts run at the moment.
    public var running: Int { state.withLock { $0.running } }
    /// The most attempts that ran at the same time.
    public var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }
    /// The most attempts that ran at the same time with this URL.
    public func mostAtOnce(to url: String) -> Int { state.withLock { $0.mostAtOnceByURL[url] ?? 0 } }

    private func record(_ bytes: ArraySlice<UInt8>, _ number: Int) {
        state.withLock { state in
            state.transfers[number].bytesTaken += Int64(bytes.count)
            if keepsBodies { state.transfers[number].body += bytes }
        }
    }

    private func isOver(_ end: TransferEnd, _ number: Int) {
        state.withLock { state in
            state.transfers[number].end = end
            state.running -= 1
            state.runningByURL[state.transfers[number].request.url, default: 1] -= 1
        }
    }
}

/// What a ``ScriptedTransport`` saw of one attempt.
public struct RecordedTransfer: Sendable {
    /// The request as the transport got it.
    public let request: TransferRequest
    /// The bytes of the body that were taken, unless they are not kept.
    public internal(set) var body: [UInt8] = []
    /// How many bytes of the body were taken.
    public internal(set) var bytesTaken: Int64 = 0
    /// How it ended; `nil` while it runs.
    public internal(set) var end: TransferEnd?

    init(request: TransferRequest) {
        self.request = request
    }
}

private struct ScriptedControl: TransferControl {
    let task: Task<Void, Never>

    func cancel() { task.cancel() }
    // A script has its own pace.
    func pause() {}
    func resume() {}
    func limit(to rate: ByteCount?) {}
}
