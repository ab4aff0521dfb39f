import CTestSupport
import Glibc
import HTTPTypes
import WaybillCore
import WaybillCurl
import WaybillMultipart

/// Calls exit(3), with a slow exit handler, during uploads or just after them.
///
///     ExitTestHelper URL AUTHORITY SCENARIO
///
/// Exits with 0 if exit(3) did not time out while waiting for the engines, and with 4 if it did.
@main struct ExitTestHelper {
    static func main() {
        let words = CommandLine.arguments
        guard words.count == 4, let scenario = Scenario(rawValue: words[3]) else { exit(2) }
        // Registered first, so called last: after the handler of the TLS library, which frees its state. The delay
        // exposes threads that still use that state.
        atexit(delayExit)
        upload(words[1], authority: words[2], until: scenario)
        if scenario == .copy {
            ExitCall.begin()
            _exit(cts_exit_in_copy())
        }
        ExitCall.call()
    }

    private static func upload(_ url: String, authority: String, until scenario: Scenario) {
        // Without idle connections every upload connects anew, which needs the freed state.
        var configuration = CurlTransport.Configuration()
        configuration.maximumIdleConnections = 0
        let transports = (0..<2).map { _ in CurlTransport(configuration: configuration) }
        for number in 0..<8 { RepeatedUpload(transports[number % 2], url, authority: authority, scenario).start() }
        while !scenario.isReached { usleep(100) }
    }
}

/// The thread that calls exit(3), and the time of the call.
private enum Scenario: String {
    /// The main thread, during the uploads.
    case main
    /// The thread of one of two engines.
    case engine
    /// The main thread, immediately after it has released its transports.
    case after
    /// The main thread, while both engines are blocked indefinitely: their sinks do not return.
    case blocked = "stuck"
    /// A forked copy of the process, which lacks the threads of the blocked engines.
    case copy

    /// The number of finished uploads before exit(3) is called.
    static let uploadsBeforeExit = 20

    /// Whether the main thread has to call exit(3) now.
    var isReached: Bool {
        switch self {
        case .main, .after: RepeatedUpload.endedCount.withLock { $0 } >= Self.uploadsBeforeExit
        case .engine: false
        case .blocked, .copy: RepeatedUpload.blockedCount.withLock { $0 } == 2
        }
    }
}

/// The time at which exit(3) was called.
private enum ExitCall {
    static let startTime = Locked<ContinuousClock.Instant?>(nil)

    static func begin() { startTime.withLock { $0 = .now } }

    static func call() -> Never {
        begin()
        exit(0)
    }
}

/// Not a closure: one created on the main thread must not be called on another thread.
private func delayExit() {
    let waited = ContinuousClock.now - (ExitCall.startTime.withLock { $0 } ?? .now)
    usleep(300_000)
    // `_exit` skips the leak check: a forked copy has none of the threads that hold the memory in use.
    _exit(waited > .milliseconds(1_900) ? 4 : 0)
}

/// Uploads one body after another.
private final class RepeatedUpload: TransferSink {
    static let endedCount = Locked(0)
    static let blockedCount = Locked(0)
    let wantsProgress = false
    private let url: String
    private let authority: String
    private let scenario: Scenario
    private let transport: Locked<CurlTransport?>

    init(_ transport: CurlTransport, _ url: String, authority: String, _ scenario: Scenario) {
        self.transport = Locked(transport)
        self.url = url
        self.authority = authority
        self.scenario = scenario
    }

    func start() {
        var options = TransferOptions()
        options.tls.certificateAuthorities = authority
        let request = TransferRequest(
            method: .post, url: url, body: DataBody([UInt8](repeating: 7, count: 100_000)), options: options)
        _ = transport.withLock { $0 }?.start(request, sink: self)
    }

    func transfer(_ event: TransferEvent) {
        guard case .ended(let end) = event else { return }
        if case .failure(let error) = end.result {
            print(error)
            _exit(3)
        }
        let count = Self.endedCount.withLock { ended in
            ended += 1
            return ended
        }
        switch scenario {
        case .engine where count == Scenario.uploadsBeforeExit: ExitCall.call()
        case .blocked where count >= Scenario.uploadsBeforeExit, .copy where count >= Scenario.uploadsBeforeExit:
            Self.blockForever()
        // Seven other uploads are in flight.
        case .after where count + 7 >= Scenario.uploadsBeforeExit: transport.withLock { $0 = nil }
        default: start()
        }
    }

    private static func blockForever() -> Never {
        blockedCount.withLock { $0 += 1 }
        while true { pause() }
    }
}
