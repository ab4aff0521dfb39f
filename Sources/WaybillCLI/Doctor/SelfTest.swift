import WaybillCore
import Glibc
import Waybill

/// Posts a small form to a listener in this process and parses it, which tests engine, form and parser together.
enum SelfTest {
    static func run() async -> Check {
        let name = "self-test"
        do {
            let listener = try SelfTestListener()
            async let received = listener.receiveOne()
            let sent = Self.parts
            var options = UploadOptions()
            options.retry = .none
            options.transfer.limits.total = .seconds(10)
            let response = try await UploadSession().upload(
                MultipartForm(sent.map(\.part)), to: "http://127.0.0.1:\(listener.port)/self-test", options: options)
            let form = try await received
            guard form.parts == sent.map(\.expected) else {
                return Check(name, false, "the received form differs from the sent form")
            }
            let bytes = form.parts.reduce(0) { $0 + $1.bytes.count }
            return Check(
                name, true,
                "a form of \(form.parts.count) parts and \(bytes) bytes was posted to 127.0.0.1 and read back, "
                    + "in \(Figures.seconds(response.metrics.total))")
        } catch {
            return Check(name, false, "\(error)")
        }
    }

    private struct Sample {
        var part: MultipartPart
        var expected: ReceivedForm.Part
    }

    /// Names and bytes that break forms without correct escaping.
    private static var parts: [Sample] {
        let bytes = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 31) } + Array("\r\n--\r\n".utf8)
        return [
            Sample(
                part: .text("text", "Grüße, 你好"),
                expected: ReceivedForm.Part(name: "text", fileName: nil, bytes: Array("Grüße, 你好".utf8))),
            Sample(
                part: .data("file \"1\"", bytes, fileName: "a;\"b\".bin"),
                expected: ReceivedForm.Part(name: "file \"1\"", fileName: "a;\"b\".bin", bytes: bytes)),
            Sample(part: .text("empty", ""), expected: ReceivedForm.Part(name: "empty", fileName: nil, bytes: [])),
        ]
    }
}

/// The form as parsed by the listener.
struct ReceivedForm: MultipartHandler, Sendable {
    struct Part: Sendable, Hashable {
        var name: String
        var fileName: String?
        var bytes: [UInt8]
    }

    private(set) var parts: [Part] = []

    mutating func partBegan(_ head: MultipartPartHead) {
        parts.append(Part(name: head.name, fileName: head.fileName, bytes: []))
    }

    mutating func partData(_ bytes: Span<UInt8>) {
        for index in bytes.indices { parts[parts.count - 1].bytes.append(bytes[index]) }
    }

    mutating func partEnded() {}
}

/// A listener on 127.0.0.1 that accepts exactly one request. Each wait times out after five seconds.
final class SelfTestListener: Sendable {
    /// A failure of the listener.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The port that the system assigned.
    let port: UInt16
    private let listener: Int32

    init() throws(Failure) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw Self.failed("socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(listener, address, length) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard isListening else {
            let failure = Self.failed("listen on 127.0.0.1")
            close(listener)
            throw failure
        }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(listener) }

    /// Receives a request, reads its form, and responds with 200, on a dedicated thread.
    func receiveOne() async throws -> ReceivedForm {
        try await withCheckedThrowingContinuation { continuation in
            BlockingThread.perform {
                continuation.resume(with: Result { try self.serve() })
            }
        }
    }

    private func serve() throws -> ReceivedForm {
        guard Self.isReadable(listener) else { throw Failure(description: "no connection within 5 seconds") }
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { throw Self.failed("accept") }
        defer { close(connection) }
        var bytes: [UInt8] = []
        let blank = Array("\r\n\r\n".utf8)
        var end: Int?
        while end == nil {
            bytes += try Self.receive(connection)
            end = Self.index(of: blank, in: bytes)
        }
        guard let end else { throw Failure(description: "the request has no head") }
        let head = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        guard let length = Self.value(of: "content-length", in: head).flatMap({ Int($0) }),
            let type = Self.value(of: "content-type", in: head)
        else { throw Failure(description: "the request has no Content-Length or no Content-Type") }
        var body = Array(bytes[(end + blank.count)...])
        while body.count < length { body += try Self.receive(connection) }
        var form = ReceivedForm()
        var parser = try MultipartParser(contentType: type)
        try parser.feed(body.span, to: &form)
        try parser.finish()
        _ = Output.write(
            Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8), to: connection)
        return form
    }

    private static func receive(_ connection: Int32) throws -> ArraySlice<UInt8> {
        guard isReadable(connection) else { throw Failure(description: "no data for 5 seconds within the request") }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(connection, $0.baseAddress, $0.count) }
        guard count > 0 else { throw Failure(description: "the connection ended within the request") }
        return buffer[..<count]
    }

    private static func isReadable(_ descriptor: Int32) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&waiting, 1, 5_000) == 1
    }

    private static func value(of name: String, in head: [Substring]) -> String? {
        for line in head {
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name else { continue }
            return String(line[line.index(after: colon)...].trimmingWhitespace)
        }
        return nil
    }

    private static func index(of needle: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= needle.count else { return nil }
        return (0...bytes.count - needle.count).first { bytes[$0..<$0 + needle.count].elementsEqual(needle) }
    }

    private static func failed(_ call: String) -> Failure { Failure(description: "\(call): \(SystemText.of(errno))") }
}
