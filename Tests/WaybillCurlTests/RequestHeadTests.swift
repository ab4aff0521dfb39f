import Glibc
import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillCurl

/// How a request is written to the wire. The server is a plain socket: what counts is the result of one `recv(2)`.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct RequestHeadTests {
    private let transport = CurlTransport()

    @Test(arguments: [65_537, 100_000])
    func `the head of a request is sent together with the first bytes of a large body`(count: Int)
        async throws
    {
        let listener = try BareListener()
        // A single attempt could pass by chance: a slow reader receives both anyway.
        for _ in 0..<20 {
            let recorder = Recorder()
            _ = transport.start(.post(listener.url, PatternBody(count)), sink: recorder)
            let connection = try listener.accept()
            let first = try connection.receive()
            let end = try #require(first.firstRange(of: Array("\r\n\r\n".utf8)), "no whole head came first")
            #expect(end.upperBound < first.count, "the head came alone")
            var left = end.upperBound + count - first.count
            while left > 0 { left -= try connection.receive().count }
            try connection.answerAndClose()
            #expect(try await recorder.response().head.status == .ok)
        }
    }

    @Test func `a head does not wait for a body without available data`() async throws {
        let listener = try BareListener()
        let recorder = Recorder()
        let control = transport.start(
            .post(listener.url, ScriptedBody(length: 100_000, [.later])), sink: recorder)
        let connection = try listener.accept()
        let first = try connection.receive()
        #expect(String(decoding: first, as: UTF8.self).hasSuffix("\r\n\r\n"))
        control.cancel()
    }
}

/// A listening socket of the test, whose calls time out after ten seconds.
private final class BareListener {
    private let descriptor: Int32
    let url: String

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let fd = descriptor
        let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(fd, pointer, length) == 0 && listen(fd, 8) == 0 && getsockname(fd, pointer, &length) == 0
            }
        }
        try #require(isListening)
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/"
        setReceiveTimeout(descriptor)
    }

    deinit { close(descriptor) }

    func accept() throws -> BareConnection {
        let accepted = Glibc.accept(descriptor, nil, nil)
        try #require(accepted >= 0, "no client connected")
        setReceiveTimeout(accepted)
        return BareConnection(descriptor: accepted)
    }
}

private final class BareConnection {
    private let descriptor: Int32

    init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Returns the result of one `recv(2)` call.
    func receive() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
        try #require(count > 0)
        return Array(buffer[..<count])
    }

    func answerAndClose() throws {
        let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
        #expect(unsafe send(descriptor, answer, answer.count, Int32(MSG_NOSIGNAL)) == answer.count)
        // Unread data would turn the close into a reset.
        shutdown(descriptor, Int32(SHUT_WR))
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while unsafe recv(descriptor, &buffer, buffer.count, 0) > 0 {}
    }
}

private func setReceiveTimeout(_ descriptor: Int32) {
    var limit = timeval(tv_sec: 10, tv_usec: 0)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
}
