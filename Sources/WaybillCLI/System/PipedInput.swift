import WaybillCore
import Glibc
import Waybill

/// Input of unknown length: standard input, a FIFO, or a shell's `<(…)`.
///
/// Stores and most servers require the length in advance, and a retry reads from the start. The input is therefore
/// copied to a temporary file once, when it is first needed. The file has mode 0600 and no name, and exists until the
/// process ends.
final class PipedInput: Sendable {
    /// A complete copy.
    struct Copy: Sendable, Hashable {
        /// A path to the file that is valid until the process ends.
        var path: String
        var size: Int64
    }

    /// The name of the input in messages.
    let displayName: String
    private let path: String
    private let limit: Int64
    private let state = Locked(State())

    private typealias Waiter = CheckedContinuation<Result<Copy, CommandFailure>?, Never>

    private struct State {
        var isStarted = false
        var result: Result<Copy, CommandFailure>?
        var waiters: [UInt64: Waiter] = [:]
        var next: UInt64 = 0
    }

    /// Creates an input; `-` is standard input. More than `limit` bytes are an error.
    init(_ path: String, limit: Int64 = .max) {
        (self.path, self.limit) = (path, limit)
        displayName = Self.isStandardInput(path) ? "standard input" : "\(Redaction.quoted(path))"
    }

    /// Returns whether a path other than `-` must be copied before it can be sent.
    static func isPipe(_ path: String) -> Bool {
        var status = stat()
        guard unsafe SystemPath.with(path, { unsafe stat($0, &status) }) == 0 else { return false }
        let kind = status.st_mode & S_IFMT
        return kind == S_IFIFO || isStandardInput(path) && kind != S_IFREG && kind != S_IFDIR
    }

    /// Returns whether a path is a name of standard input.
    static func isStandardInput(_ path: String) -> Bool {
        ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(path)
    }

    /// Returns the copy. The first call starts reading. A cancelled call stops waiting; other calls still receive the
    /// copy.
    ///
    /// - Throws: ``CommandFailure``, or `CancellationError`.
    func copied() async throws -> Copy {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { wait($0, id) }
        } onCancel: {
            stopWaiting(id)
        }
        guard let result else { throw CancellationError() }
        return try result.get()
    }

    private func wait(_ waiter: Waiter, _ id: UInt64) {
        let (result, isFirst) = state.withLock { state in
            if state.result == nil { state.waiters[id] = waiter }
            defer { state.isStarted = true }
            return (state.result, !state.isStarted)
        }
        if let result { return waiter.resume(returning: result) }
        if isFirst { BlockingThread.perform { self.finish(Result { () throws(CommandFailure) in try self.copy() }) } }
        // The cancellation may have occurred before the waiter was registered.
        if Task.isCancelled { stopWaiting(id) }
    }

    private func stopWaiting(_ id: UInt64) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
        waiter?.resume(returning: nil)
    }

    private func finish(_ result: Result<Copy, CommandFailure>) {
        let waiters = state.withLock { state in
            state.result = result
            return state.waiters.values.map(\.self)
        }
        state.withLock { $0.waiters = [:] }
        for waiter in waiters { waiter.resume(returning: result) }
    }
}

extension PipedInput {
    private func copy() throws(CommandFailure) -> Copy {
        var descriptor: Int32 = 0
        if Self.isStandardInput(path) {
            if let file = Self.standardInputFile() { return file }
        } else {
            descriptor = unsafe SystemPath.with(path) { unsafe open($0, O_RDONLY | O_CLOEXEC) }
            guard descriptor >= 0 else { throw failure(errno) }
        }
        defer { if descriptor > 0 { close(descriptor) } }
        let file: SpillFile
        do throws(BodyError) { file = try SpillFile(in: nil, at: nil) } catch { throw spillFailed(error) }
        let size = try fill(file, from: descriptor)
        // Kept open, with its descriptor number, until the process ends.
        let copy = fcntl(file.descriptor.raw, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw failure(errno) }
        return Copy(path: "/proc/self/fd/\(copy)", size: size)
    }

    /// Returns standard input itself if it is a file at its start, which needs no copy.
    private static func standardInputFile() -> Copy? {
        var status = stat()
        guard unsafe fstat(0, &status) == 0, status.st_mode & S_IFMT == S_IFREG, lseek(0, 0, SEEK_CUR) == 0,
            unsafe access("/proc/self/fd/0", R_OK) == 0
        else { return nil }
        return Copy(path: "/proc/self/fd/0", size: Int64(status.st_size))
    }

    private func fill(_ file: SpillFile, from descriptor: Int32) throws(CommandFailure) -> Int64 {
        var size: Int64 = 0
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(errno) }
            guard count > 0 else { return size }
            do throws(BodyError) {
                try file.write(count == buffer.count ? buffer : Array(buffer[..<count]), at: size)
            } catch {
                throw spillFailed(error)
            }
            size += Int64(count)
            guard size <= limit else {
                throw CommandFailure(
                    code: CommandFailure.Code("tooManyBytes"), exit: .source,
                    message: "\(displayName) exceeds \(ByteCount(bytes: limit)), the maximum size of an image.")
            }
        }
    }

    private func failure(_ number: Int32) -> CommandFailure {
        .source(number, displayName, cannot: "read")
    }

    private func spillFailed(_ error: BodyError) -> CommandFailure {
        let reason = (error.cause as? SystemError)?.description ?? "\(error.code)"
        return CommandFailure(
            code: .writeFailed, exit: .fatal,
            message:
                "\(displayName) can't be copied to a temporary file: \(reason). Free disk space, or set the "
                + "environment variable TMPDIR to another directory.")
    }
}

/// The content of a part that is read from a pipe.
struct PipedPart: PartPreparing {
    let input: PipedInput
    let fileName: String
    /// The compression options of an image.
    let image: JPEGOptions?
    /// Receives the report of an image.
    let onPrepared: (@Sendable (JPEGReport) -> Void)?

    /// The maximum size of an image that the decoder accepts.
    static let maxImageBytes: Int64 = 100_000_000

    /// Creates a part with a file name.
    static func part(
        _ name: String, _ path: String, fileName: String?, contentType: String?, _ image: JPEGOptions?,
        onPrepared: (@Sendable (JPEGReport) -> Void)? = nil
    ) -> MultipartPart {
        let input = PipedInput(path, limit: image == nil ? .max : maxImageBytes)
        // As with curl: the last component of the path, and a dash for standard input.
        let last = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? path
        let fileName = fileName ?? last
        return .preparing(
            name, fileName: fileName, contentType: contentType,
            with: PipedPart(input: input, fileName: fileName, image: image, onPrepared: onPrepared))
    }

    func prepare() async throws -> PreparedPart {
        let copy: PipedInput.Copy
        do {
            copy = try await input.copied()
        } catch let failure as CommandFailure {
            throw UploadError(UploadError.Code(failure.code.description), failure.message, phase: .preparing)
        }
        guard let image else { return PreparedPart(content: .file(path: copy.path)) }
        let part = MultipartPart.image("", path: copy.path, fileName: fileName, image, onPrepared: onPrepared)
        guard case .preparing(let preparation) = part.content else { return PreparedPart(content: .bytes([])) }
        return try await preparation.prepare()
    }
}

extension MultipartForm {
    /// The form without the contents of pipes, which a dry run does not read, and the indices of those parts.
    var withoutPipes: (form: MultipartForm, unread: Set<Int>) {
        var (form, unread) = (self, Set<Int>())
        for (index, part) in parts.enumerated() {
            guard case .preparing(is PipedPart) = part.content else { continue }
            form.parts[index] = .data(part.name, [], fileName: part.fileName, contentType: part.contentType)
            unread.insert(index)
        }
        return (form, unread)
    }
}
