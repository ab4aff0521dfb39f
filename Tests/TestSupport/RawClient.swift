internal import CTestSupport
internal import Glibc

/// A client that sends and receives raw bytes, to test servers with requests that no library would send.
///
/// Its calls block for a few milliseconds and fail after 10 s.
package final class RawClient: Sendable {
    private let socket: Int32

    /// Connects to a port of 127.0.0.1.
    package init(port: Int) throws {
        socket = cts_connect(UInt16(port), 1)
        guard socket >= 0 else { throw SystemCallFailure(call: "connect", code: -socket) }
    }

    deinit { cts_close(socket) }

    /// Sends the whole text.
    package func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// Sends all bytes.
    package func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe cts_send(socket, $0.baseAddress!, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else {
                guard count == -Int(EAGAIN), cts_wait(socket, CInt(cts_writable), -1, -1, 10_000) != 0 else {
                    throw SystemCallFailure(call: "send", code: Int32(-count))
                }
            }
        }
    }

    /// Reads until the text ends with the given string, or the server closes the connection.
    package func receive(until ending: String? = nil) throws -> String {
        var bytes: [UInt8] = []
        while true {
            if let ending, bytes.count >= ending.utf8.count, bytes.suffix(ending.utf8.count).elementsEqual(ending.utf8)
            {
                break
            }
            guard cts_wait(socket, CInt(cts_readable), -1, -1, 10_000) != 0 else {
                throw SystemCallFailure(call: "receive", code: ETIMEDOUT)
            }
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe cts_receive(socket, $0.baseAddress!, $0.count) }
            if count == 0 { break }
            guard count > 0 else { throw SystemCallFailure(call: "receive", code: Int32(-count)) }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Sends a FIN.
    package func finish() { _ = cts_finish(socket) }
}
