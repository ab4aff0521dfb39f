import WaybillCore

/// A reader's file operations on the pool, one at a time.
///
/// The reader submits a request, is woken, and takes the result. In between, only the pool accesses the buffer;
/// otherwise only the reader does. A reader that is closed meanwhile does not wait: the pool's own references keep
/// descriptor and buffer alive until its call returns.
@safe final class DiskJob: PoolJob, @unchecked Sendable {
    enum Request: Sendable {
        case open(SourceFile)
        /// Reads `count` bytes at `offset` of a file slice that ends at `end`.
        case read(FileDescriptor, SourceFile, offset: Int64, count: Int, end: Int64)
        case check(FileDescriptor, SourceFile)
        case verify([SourceFile], from: Int)

        /// The file, or the first of several.
        var source: SourceFile {
            switch self {
            case .open(let source), .read(_, let source, _, _, _), .check(_, let source): source
            case .verify(let sources, let first): sources[first]
            }
        }
    }

    enum Outcome: Sendable {
        case opened(FileDescriptor)
        /// The number of bytes read. If they include the last byte of the slice, the file was checked as well.
        case read(Int, isChecked: Bool)
        case checked
        case verified
        case failed(BodyError)
    }

    private enum State: Sendable {
        case idle
        case submitted(Request)
        case completed(Outcome)
        case closed
    }

    /// The maximum number of bytes per read, and thus the maximum buffer size of a reader.
    static let maxReadBytes = 256 * 1_024

    private let disk: DiskAccess
    private let wake: @Sendable () -> Void
    private let state = Locked<State>(.idle)
    private let buffer: UnsafeMutableRawBufferPointer

    init(disk: DiskAccess, bufferSize: Int, wake: @escaping @Sendable () -> Void) {
        self.disk = disk
        self.wake = wake
        unsafe buffer = .allocate(byteCount: max(1, min(bufferSize, Self.maxReadBytes)), alignment: 16)
    }

    deinit {
        unsafe buffer.deallocate()
    }

    /// The bytes of the last read. Access them only between a result and the next request.
    var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(buffer) }

    func submit(_ request: Request) {
        state.withLock { $0 = .submitted(request) }
        ReaderPool.shared.submit(self)
    }

    /// Returns the result once.
    func takeOutcome() -> Outcome? {
        state.withLock { state in
            guard case .completed(let outcome) = state else { return nil }
            state = .idle
            return outcome
        }
    }

    func close() {
        state.withLock { $0 = .closed }
    }

    let isLimited = true

    /// The pool's call may return later; its result is then discarded.
    func abandon(after limit: Duration) {
        let isPending = state.withLock { state in
            guard case .submitted(let request) = state else { return false }
            let source = request.source
            state = .completed(.failed(.readTimeout(source.path, at: source.location, limit: limit)))
            return true
        }
        if isPending { wake() }
    }

    func run() {
        let request: Request? = state.withLock { state in
            guard case .submitted(let request) = state else { return nil }
            return request
        }
        guard let request else { return }
        let outcome = perform(request)
        let isPending = state.withLock { state in
            guard case .submitted = state else { return false }
            state = .completed(outcome)
            return true
        }
        if isPending { wake() }
    }

    private func perform(_ request: Request) -> Outcome {
        do throws(BodyError) {
            switch request {
            case .open(let source):
                return .opened(try disk.open(source))
            case .read(let descriptor, let source, let offset, let count, let end):
                let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(count, buffer.count)])
                let count = try unsafe disk.read(descriptor, source, into: target, at: offset)
                let isLast = offset + Int64(count) == end
                // Check here to save the reader another wait.
                if isLast { try disk.check(descriptor, source) }
                return .read(count, isChecked: isLast)
            case .check(let descriptor, let source):
                try disk.check(descriptor, source)
                return .checked
            case .verify(let sources, let first):
                for source in sources[first...] { try disk.verify(source) }
                return .verified
            }
        } catch {
            return .failed(error)
        }
    }
}
