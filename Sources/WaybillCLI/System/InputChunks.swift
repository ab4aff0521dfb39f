import WaybillCore
import Glibc
import Waybill

/// A file or standard input as a sequence of chunks, regardless of its length.
struct InputChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]

    private let descriptor: Int32
    private let displayName: String

    /// Opens a file; `-` is standard input. It stays open until the process ends.
    init(_ path: String) throws(CommandFailure) {
        displayName = path == "-" ? "standard input" : "\(Redaction.quoted(path))"
        descriptor = path == "-" ? 0 : unsafe SystemPath.with(path) { unsafe open($0, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else {
            let code = errno
            throw CommandFailure(
                code: code == ENOENT ? .fileNotFound : .fileNotReadable, exit: .source,
                message: "\(displayName) can't be read: \(SystemText.of(code)).")
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(descriptor: descriptor, displayName: displayName) }

    struct Iterator: AsyncIteratorProtocol {
        let descriptor: Int32
        let displayName: String
        private var buffer = [UInt8](repeating: 0, count: 65_536)

        init(descriptor: Int32, displayName: String) {
            self.descriptor = descriptor
            self.displayName = displayName
        }

        mutating func next() async throws -> [UInt8]? {
            while true {
                // A pipe may never have input, so check for cancellation between polls.
                guard !Task.isCancelled else { throw CancellationError() }
                var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                let ready = unsafe Glibc.poll(&poll, 1, 100)
                if ready == 0 || (ready < 0 && errno == EINTR) { continue }
                let count = unsafe buffer.withUnsafeMutableBytes {
                    unsafe read(descriptor, $0.baseAddress, $0.count)
                }
                if count < 0 && errno == EINTR { continue }
                guard count >= 0 else {
                    throw CommandFailure(
                        code: .fileNotReadable, exit: .source,
                        message: "\(displayName) can't be read: \(SystemText.of(errno)).")
                }
                return count == 0 ? nil : Array(buffer[..<count])
            }
        }
    }
}
