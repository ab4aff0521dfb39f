import Glibc
import HTTPTypes
import WaybillCore
import WaybillCurl
import WaybillMultipart

/// Ends in the midst of its uploads, by exit(3), whose work takes long here.
///
///     ExitErrand URL AUTHORITY main|engine
///
/// Who calls exit(3) is the first thread, or the thread of the engine in the middle of a transfer's life.
@main struct ExitErrand {
    static func main() {
        let words = CommandLine.arguments
        guard words.count == 4 else { exit(2) }
        // The first to be registered is the last to be called: after it that of the TLS library, which frees what it has.
        // Whoever is still at work with it is given the time to find out.
        atexit(takeLong)
        // Connections are closed and made all the time: that is what needs what was freed.
        var configuration = CurlTransport.Configuration()
        configuration.maximumIdleConnections = 0
        let transport = CurlTransport(configuration: configuration)
        let endsItself = words[3] == "engine"
        for _ in 0..<8 { Relay(transport, words[1], authority: words[2], endsItself: endsItself).start() }
        while endsItself || Relay.ended.withLock({ $0 }) < 20 { usleep(1_000) }
        exit(0)
    }
}

/// Not a closure: one that is made on the first thread may not be called on another.
private func takeLong() { usleep(300_000) }

/// One upload after the other.
private final class Relay: TransferSink {
    static let ended = Locked(0)
    let wantsProgress = false
    private let transport: CurlTransport
    private let url: String
    private let authority: String
    private let endsItself: Bool

    init(_ transport: CurlTransport, _ url: String, authority: String, endsItself: Bool) {
        self.transport = transport
        self.url = url
        self.authority = authority
        self.endsItself = endsItself
    }

    func start() {
        var options = TransferOptions()
        options.tls.certificateAuthorities = authority
        _ = transport.start(
            TransferRequest(
                method: .post, url: url, body: DataBody([UInt8](repeating: 7, count: 100_000)),
                options: options), sink: self)
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
        if endsItself, count == 20 { exit(0) }
        start()
    }
}
