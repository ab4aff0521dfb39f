import Testing
import WaybillCore

@testable import WaybillCurl

/// When files are sent with `sendfile(2)`, and what delays the end of their body.
@Suite struct DirectSendTests {
    private static let length: Int64 = 10 << 20

    @Test func `a large body of known length over plain HTTP may be sent directly`() {
        func isAllowed(
            _ url: String = "http://h/", _ count: Int = 2 << 20, _ change: (inout TransferOptions) -> Void = { _ in }
        )
            -> Bool
        {
            DirectSend(.post(url, PatternBody(count), configure: change)).isAllowed
        }
        #expect(isAllowed())
        #expect(isAllowed { $0.proxy = "socks5h://proxy" })
        #expect(!isAllowed("https://h/"))
        #expect(!isAllowed("HTTPS://h/"))
        #expect(!isAllowed("http://h/", 1 << 20))
        #expect(!isAllowed { $0.proxy = "https://proxy" })
        #expect(!isAllowed { $0.proxy = "HTTPS://proxy" })
        #expect(!DirectSend(.post("http://h/", PatternBody(2 << 20, announcesLength: false))).isAllowed)
        #expect(!DirectSend(.post("http://h/")).isAllowed)
    }

    @Test func `waits for acknowledgements double up to 16 ms`() {
        var direct = DirectSend(.post("http://h/", PatternBody(2 << 20)))
        #expect((0..<6).map { _ in direct.nextPollDelay() } == [1, 2, 4, 8, 16, 16].map { .milliseconds($0) })
        direct.recordSend(end: 1)
        #expect(direct.nextPollDelay() == .milliseconds(1))
    }

    @Test func `direct sends are bounded and stop before the end of the body`() {
        #expect(DirectSend.sendableCount(bytesRead: 65_536, of: Self.length) == DirectSend.maxBytesPerCall)
        #expect(
            DirectSend.sendableCount(bytesRead: Self.length - 600_000, of: Self.length)
                == 600_000 - DirectSend.alwaysReadBytes)
        #expect(DirectSend.sendableCount(bytesRead: Self.length - 500_000, of: Self.length) == 0)
    }

    @Test func `far from the end acknowledged bytes are not queried`() {
        var direct = DirectSend(.post("http://h/", PatternBody(2 << 20)))
        direct.recordSend(end: 5 << 20)
        let most = direct.readable(bytesRead: 5 << 20, of: Self.length, upTo: 16 << 10) {
            Issue.record("acknowledged was queried")
            return nil
        }
        #expect(most == 16 << 10)
    }

    @Test func `the last bytes wait until all direct bytes are acknowledged`() {
        var direct = DirectSend(.post("http://h/", PatternBody(2 << 20)))
        let end = Self.length - Int64(DirectSend.alwaysReadBytes)
        direct.recordSend(end: end)
        let finalBytes = Int64(DirectSend.finalBytes)
        #expect(
            direct.readable(bytesRead: end, of: Self.length, upTo: 1 << 20) { end - 1 } == DirectSend.alwaysReadBytes
                - DirectSend.finalBytes)
        #expect(direct.readable(bytesRead: Self.length - finalBytes, of: Self.length, upTo: 1 << 20) { end - 1 } == 0)
        #expect(
            direct.readable(bytesRead: Self.length - finalBytes + 100, of: Self.length, upTo: 1 << 20) { end - 1 } == 0)
        #expect(direct.readable(bytesRead: Self.length - finalBytes, of: Self.length, upTo: 1 << 20) { end } == 1 << 20)
        // Queried once: acknowledged bytes stay acknowledged.
        #expect(direct.readable(bytesRead: Self.length - 10, of: Self.length, upTo: 1 << 20) { 0 } == 1 << 20)
    }

    @Test func `unknown acknowledgement does not delay the last bytes`() {
        var direct = DirectSend(.post("http://h/", PatternBody(2 << 20)))
        direct.recordSend(end: 100)
        #expect(direct.readable(bytesRead: Self.length - 10, of: Self.length, upTo: 1 << 20) { nil } == 1 << 20)
    }

    @Test func `a feed counts directly sent bytes and leaves the last byte for a read`() throws {
        for results: [Int?] in [[3, 3, 0], [6, nil], [9], [20]] {
            var feed = try BodyFeed(SendingBody(10, results)) {}
            #expect(feed.send(upTo: 100, into: -1) == nil, "not allowed yet")
            feed.allowSending()
            let sent = results.compactMap(\.self).reduce(0, +)
            #expect(feed.send(upTo: 100, into: -1) == min(9, sent))
            #expect(feed.bytesRead == Int64(min(9, sent)) && feed.sentDirectly == feed.bytesRead)
        }
        var feed = try BodyFeed(SendingBody(10, [0, nil])) {}
        feed.allowSending()
        #expect(feed.send(upTo: 100, into: -1) == 0)
        #expect(feed.send(upTo: 100, into: -1) == nil)
        feed.close()
        #expect(feed.send(upTo: 100, into: -1) == nil)
    }

    @Test func `a reader without direct sending is only read`() throws {
        var feed = try BodyFeed(PatternBody(10)) {}
        feed.allowSending()
        #expect(feed.send(upTo: 100, into: -1) == nil)
    }
}

/// A body whose reader simulates how much a socket accepts.
private struct SendingBody: UploadBody {
    let length: Int64?
    let isReplayable = true
    private let results: [Int?]

    init(_ length: Int64, _ results: [Int?]) {
        self.length = length
        self.results = results
    }

    func makeReader(wake: @escaping @Sendable () -> Void) -> any BodyReader { Reader(results) }

    private final class Reader: FileSendingReader {
        private var results: [Int?]

        init(_ results: [Int?]) { self.results = results }

        func send(upTo count: Int, into socket: Int32) -> Int? {
            guard !results.isEmpty else { return nil }
            return results.removeFirst().map { min($0, count) }
        }

        func read(into output: inout OutputRawSpan) -> BodyRead { .end }
        func close() {}
    }
}
