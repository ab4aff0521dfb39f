import Foundation

/// A server for a single request: it reads the request, responds with 200, and returns what it received.
@safe final class RawSink: Sendable {
    let port: UInt16
    private let listener: Int32

    struct Failed: Error {
        let what: String
        let number: Int32
    }

    init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let failed = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, size) != 0 || listen(descriptor, 1) != 0
                    || getsockname(descriptor, $0, &size) != 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        if failed { throw Failed(what: "listen", number: errno) }
    }

    deinit {
        close(listener)
    }

    /// Returns head and body of the request.
    func request() async throws -> (head: String, body: [UInt8]) {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try self.take() }) }
        }
    }

    private func take() throws -> (head: String, body: [UInt8]) {
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { throw Failed(what: "accept", number: errno) }
        defer { close(connection) }
        unsafe setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let end = Data(received).range(of: Data("\r\n\r\n".utf8)) {
                let head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
                let length = Self.value(of: "content-length", in: head).flatMap(Int.init) ?? 0
                if received.count >= end.upperBound + length {
                    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    _ = unsafe send(connection, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
                    return (head, Array(received[end.upperBound...]))
                }
            }
            let count = unsafe recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { throw Failed(what: "recv", number: errno) }
            received += buffer[..<count]
        }
    }

    static func value(of name: String, in head: String) -> String? {
        for line in head.split(separator: "\r\n") where line.lowercased().hasPrefix(name + ":") {
            return line.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
        }
        return nil
    }
}
