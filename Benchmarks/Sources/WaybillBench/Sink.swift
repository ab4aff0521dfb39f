import Glibc

/// A server that receives uploads as fast as the kernel can, so that only the client is measured.
///
/// Bodies are discarded in the kernel (`recv` with `MSG_TRUNC`, tcp(7)) without a copy. Each response has the number of
/// body bytes received, which proves the work of a run.
final class Sink: Sendable {
    let port: UInt16
    private let listener: Int32

    /// Listens on a free port of 127.0.0.1 and serves each connection on its own thread until the process ends.
    ///
    /// - Parameter bytesPerSecond: The limit of all bodies together; `nil` for no limit.
    /// - Throws: An error if no socket is available.
    init(bytesPerSecond: Int? = nil) throws(BenchError) {
        let pace = bytesPerSecond.map { Pace(bytesPerSecond: $0) }
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        if pace != nil {
            // Set before listen, because connections inherit it: with a large buffer, a slow server would look fast.
            var room: Int32 = 32_768
            setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
        }
        let fd = listener
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(fd, $0, length) == 0 && listen(fd, 64) == 0 && getsockname(fd, $0, &length) == 0
            }
        }
        guard isBound else { throw BenchError("The sink cannot listen on 127.0.0.1 (errno \(errno)).") }
        port = UInt16(bigEndian: address.sin_port)
        Self.detach { Self.acceptAll(from: fd, pace) }
    }

    private static func acceptAll(from listener: Int32, _ pace: Pace?) {
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { continue }
            var one: Int32 = 1
            setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
            detach {
                serve(connection, pace)
                close(connection)
            }
        }
    }

    /// Serves requests until the client disconnects.
    private static func serve(_ connection: Int32, _ pace: Pace?) {
        var buffer = HeadBuffer()
        while let head = buffer.readHead(from: connection) {
            if head.expectsContinue, !send("HTTP/1.1 100 Continue\r\n\r\n", to: connection) { return }
            guard let taken = takeBody(of: head, &buffer, from: connection, pace) else { return }
            let count = String(taken)
            let response = "HTTP/1.1 200 OK\r\nContent-Length: \(count.utf8.count)\r\n\r\n\(count)"
            guard send(response, to: connection) else { return }
        }
    }

    /// - Returns: The number of content bytes, or `nil` if the body is truncated.
    private static func takeBody(
        of head: RequestHead, _ buffer: inout HeadBuffer, from connection: Int32, _ pace: Pace?
    ) -> Int? {
        guard head.isChunked else { return take(head.contentLength, &buffer, from: connection, pace) }
        var total = 0
        while let line = buffer.readLine(from: connection) {
            guard let size = Int(line.prefix { $0 != ";" }, radix: 16) else { return nil }
            guard take(size, &buffer, from: connection, pace) != nil, buffer.readLine(from: connection) == "" else {
                return nil
            }
            total += size
            if size == 0 { return total }
        }
        return nil
    }

    private static func take(
        _ count: Int, _ buffer: inout HeadBuffer, from connection: Int32, _ pace: Pace?
    ) -> Int? {
        discard(count - buffer.takeBody(atMost: count), from: connection, pace) ? count : nil
    }

    private static func discard(_ count: Int, from connection: Int32, _ pace: Pace?) -> Bool {
        let room = pace == nil ? 1 << 20 : 8_192
        // Never written, so it never becomes resident.
        let nowhere = UnsafeMutableRawPointer.allocate(byteCount: room, alignment: 16)
        defer { nowhere.deallocate() }
        var left = count
        while left > 0 {
            let taken = recv(connection, nowhere, min(left, room), Int32(MSG_TRUNC))
            guard taken > 0 else { return false }
            left -= taken
            pace?.take(taken)
        }
        return true
    }

    private static func send(_ text: String, to connection: Int32) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            == bytes.count
    }

    private static func detach(_ work: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(Work(work)).toOpaque()
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { box in
                Unmanaged<Work>.fromOpaque(box!).takeRetainedValue().run()
                return nil
            }, box)
        pthread_detach(thread)
    }

    private final class Work: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}

/// Limits the rate of all connections together.
private final class Pace: @unchecked Sendable {
    private let secondsPerByte: Double
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var next = 0.0

    init(bytesPerSecond: Int) {
        secondsPerByte = 1 / Double(bytesPerSecond)
        pthread_mutex_init(mutex, nil)
    }

    /// Waits until the rate allows this number of bytes.
    func take(_ count: Int) {
        pthread_mutex_lock(mutex)
        var clock = timespec()
        clock_gettime(CLOCK_MONOTONIC, &clock)
        let now = Double(clock.tv_sec) + Double(clock.tv_nsec) / 1e9
        next = max(next, now) + Double(count) * secondsPerByte
        let wait = next - now
        pthread_mutex_unlock(mutex)
        usleep(UInt32(wait * 1e6))
    }
}

/// The parts of a request head that the sink needs.
struct RequestHead {
    var contentLength = 0
    var expectsContinue = false
    var isChunked = false

    init(_ text: String) {
        for line in text.split(separator: "\r\n") {
            let halves = line.split(separator: ":", maxSplits: 1)
            guard halves.count == 2 else { continue }
            let value = halves[1].drop { $0 == " " }
            switch halves[0].lowercased() {
            case "content-length": contentLength = Int(value) ?? 0
            case "transfer-encoding": isChunked = value.lowercased() == "chunked"
            case "expect": expectsContinue = value.lowercased() == "100-continue"
            default: break
            }
        }
    }
}

/// The bytes read beyond a head, which are the beginning of the body.
struct HeadBuffer {
    private var bytes: [UInt8] = []

    mutating func readHead(from connection: Int32) -> RequestHead? {
        read(through: "\r\n\r\n", chunkSize: 16_384, from: connection).map(RequestHead.init)
    }

    /// A line of the chunked coding (RFC 9112 section 7.1), without its end. Reads are small, because discarding the
    /// following content in the kernel is cheaper.
    mutating func readLine(from connection: Int32) -> String? {
        read(through: "\r\n", chunkSize: 16, from: connection)
    }

    private mutating func read(through end: String, chunkSize: Int, from connection: Int32) -> String? {
        let end = Array(end.utf8)
        while true {
            if let start = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) {
                let text = String(decoding: bytes[..<start], as: UTF8.self)
                bytes.removeFirst(start + end.count)
                return text
            }
            var chunk = [UInt8](repeating: 0, count: chunkSize)
            let count = recv(connection, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            bytes += chunk[..<count]
        }
    }

    mutating func takeBody(atMost limit: Int) -> Int {
        let count = min(limit, bytes.count)
        bytes.removeFirst(count)
        return count
    }
}
