import Glibc
import HTTPTypes
import WaybillCore
import WaybillCurl
import WaybillMultipart

/// Ends by exit(3), whose work takes long here, in the midst of its uploads or just after them.
///
///     ExitErrand URL AUTHORITY main|engine|after
///
/// Who calls exit(3) is the first thread, or the thread of one of two engines, or the first thread as soon as it has let go
/// of its transports. It ends with 0 if exit(3) did not have to give up waiting.
@main struct ExitErrand {
    static func main() {
        let words = CommandLine.arguments
        guard words.count == 4 else { exit(2) }
        // The first to be registered is the last to be called: after it that of the TLS library, which frees what it has.
        // Whoever is still at work with it is given the time to find out.
        atexit(takeLong)
        upload(words[1], authority: words[2], until: words[3])
        Ending.call()
    }

    private static func upload(_ url: String, authority: String, until ending: String) {
        // Connections are closed and made all the time: that is what needs what was freed.
        var configuration = CurlTransport.Configuration()
        configuration.maximumIdleConnections = 0
        let transports = (0..<2).map { _ in CurlTransport(configuration: configuration) }
        let most = ending == "after" ? 20 : Int.max
        for number in 0..<8 {
            Relay(transports[number % 2], url, authority: authority, most: most, endsItself: ending == "engine").start()
        }
        while ending == "engine" || Relay.ended.withLock({ $0 }) < 20 { usleep(100) }
    }
}

/// When exit(3) was called, and how long it took.
private enum Ending {
    static let begun = Locked<ContinuousClock.Instant?>(nil)

    static func call() -> Never {
        begun.withLock { $0 = .now }
        exit(0)
    }
}

/// Not a closure: one that is made on the first thread may not be called on another.
private func takeLong() {
    let waited = ContinuousClock.now - (Ending.begun.withLock { $0 } ?? .now)
    usleep(300_000)
    if waited > .milliseconds(1_900) { _exit(4) }
}

/// One upload after the other.
private final class Relay: TransferSink {
    static let ended = Locked(0)
    let wantsProgress = false
    private let url: String
    private let authority: String
    private let most: Int
    private let endsItself: Bool
    private let transport: Locked<CurlTransport?>

    init(_ transport: CurlTransport, _ url: String, authority: String, most: Int, endsItself: Bool) {
        self.transport = Locked(transport)
        self.url = url
        self.authority = authority
        self.most = most
        self.endsItself = endsItself
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
        let count = Self.ended.withLock { ended in
            ended += 1
            return ended
        }
        if endsItself, count == 20 { Ending.call() }
        guard count + 7 < most else { return transport.withLock { $0 = nil } }
        start()
    }
}
