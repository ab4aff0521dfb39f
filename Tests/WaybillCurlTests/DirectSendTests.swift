import Testing
import WaybillCore

@testable import WaybillCurl

/// When files may be sent without libcurl, and what delays the end of their body.
@Suite struct DirectSendTests {
    private static let length: Int64 = 10 << 20

    @Test func `a large body of known length over plain HTTP may be sent directly`() {
        guard CurlLibrary.reliesOnReadCallbackForEnd else { return }
        func isOpen(
            _ url: String = "http://h/", _ count: Int = 2 << 20, _ change: (inout TransferOptions) -> Void = { _ in }
        )
            -> Bool
        {
            DirectSend(.post(url, PatternBody(count), configure: change)).isOpen
        }
        #expect(isOpen())
        #expect(isOpen { $0.proxy = "http://proxy:3128" })
        #expect(isOpen { $0.proxy = "socks5h://proxy" })
        #expect(!isOpen("https://h/"))
        #expect(!isOpen("HTTPS://h/"))
        #expect(!isOpen("http://h/", 1 << 20))
        #expect(!isOpen { $0.proxy = "https://proxy" })
        #expect(!isOpen { $0.proxy = "HTTPS://proxy" })
        #expect(!isOpen { $0.httpVersion = .http2 })
        #expect(!isOpen { $0.digest = DigestCredential(user: "u", password: .secret("p")) })
        #expect(!isOpen { $0.curlOptions = [CurlOption("TCP_NODELAY", .number(1))] })
        #expect(!DirectSend(.post("http://h/", PatternBody(2 << 20, announcesLength: false))).isOpen)
        #expect(!DirectSend(.post("http://h/")).isOpen)
    }

    @Test func `bytes for libcurl scale with its buffer, and waits double up to 16 ms`() {
        #expect(DirectSend.between(buffer: 64 << 10) == 16 << 10)
        #expect(DirectSend.between(buffer: 512 << 10) == 16 << 10)
        #expect(DirectSend.between(buffer: 2 << 20) == 64 << 10)
        var direct = DirectSend(.post("http://h/", PatternBody(2 << 20)))
        #expect((0..<6).map { _ in direct.wait() } == [1, 2, 4, 8, 16, 16].map { .milliseconds($0) })
        direct.note(end: 1)
        #expect(direct.wait() == .milliseconds(1))
    }

    @Test func `direct sends are bounded and stop before the end of the body`() {
        #expect(DirectSend.room(handedOver: 65_536, of: Self.length) == DirectSend.atOnce)
        #expect(
            DirectSend.room(handedOver: Self.length - 600_000, of: Self.length) == 600_000 - DirectSend.alwaysReadBytes)
        #expect(DirectSend.room(handedOver: Self.length - 500_000, of: Self.length) == 0)
    }

    @Test func `far from the end acknowledged bytes are not queried`() {
        var direct = DirectSend(.post("http://h/", PatternBody(2 << 20)))
        direct.note(end: 5 << 20)
        let most = direct.readable(handedOver: 5 << 20, of: Self.length, upTo: 16 << 10) {
            Issue.record("asked")
            return nil
        }
        #expect(most == 16 << 10)
    }

    @Test func `the last bytes wait until all direct bytes are acknowledged`() {
        var direct = DirectSend(.post("http://h/", PatternBody(2 << 20)))
        let end = Self.length - Int64(DirectSend.alwaysReadBytes)
        direct.note(end: end)
        let heldBack = Int64(DirectSend.heldBack)
        #expect(
            direct.readable(handedOver: end, of: Self.length, upTo: 1 << 20) { end - 1 } == DirectSend.alwaysReadBytes
                - DirectSend.heldBack)
        #expect(direct.readable(handedOver: Self.length - heldBack, of: Self.length, upTo: 1 << 20) { end - 1 } == 0)
        #expect(
            direct.readable(handedOver: Self.length - heldBack + 100, of: Self.length, upTo: 1 << 20) { end - 1 } == 0)
        #expect(direct.readable(handedOver: Self.length - heldBack, of: Self.length, upTo: 1 << 20) { end } == 1 << 20)
        // Queried once: acknowledged bytes stay acknowledged.
        #expect(direct.readable(handedOver: Self.length - 10, of: Self.length, upTo: 1 << 20) { 0 } == 1 << 20)
    }

    @Test func `unknown acknowledgement does not delay the last bytes`() {
        var direct = DirectSend(.post("http://h/", PatternBody(2 << 20)))
        direct.note(end: 100)
        #expect(direct.readable(handedOver: Self.length - 10, of: Self.length, upTo: 1 << 20) { nil } == 1 << 20)
    }

    @Test func `a feed counts directly sent bytes and leaves the last byte for a read`() throws {
        for answers: [Int?] in [[3, 3, 0], [6, nil], [9], [20]] {
            var feed = try BodyFeed(SendingBody(10, answers)) {}
            #expect(feed.send(upTo: 100, into: -1) == nil, "not allowed yet")
            feed.allowSending()
            let sent = answers.compactMap(\.self).reduce(0, +)
            #expect(feed.send(upTo: 100, into: -1) == min(9, sent))
            #expect(feed.handedOver == Int64(min(9, sent)) && feed.sentDirectly == feed.handedOver)
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
    private let answers: [Int?]

    init(_ length: Int64, _ answers: [Int?]) {
        self.length = length
        self.answers = answers
    }

    func makeReader(wake: @escaping @Sendable () -> Void) -> any BodyReader { Reader(answers) }

    private final class Reader: FileSendingReader {
        private var answers: [Int?]

        init(_ answers: [Int?]) { self.answers = answers }

        func send(upTo count: Int, into socket: Int32) -> Int? {
            guard !answers.isEmpty else { return nil }
            return answers.removeFirst().map { min($0, count) }
        }

        func read(into output: inout OutputRawSpan) -> BodyRead { .end }
        func close() {}
    }
}
