import TestSupport
import Glibc
import Testing
import WaybillCore

@testable import WaybillMultipart

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct ReaderTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test(arguments: [false, true])
    func `a reader keeps one descriptor open while it reads and none afterwards`(throughPool: Bool) async throws {
        let path = try directory.file("a", pattern(150_000))
        var body = try await MultipartForm([.file("f", path: path)]).prepared()
        body.disk.allowsNonblocking = !throughPool
        #expect(openDescriptors(on: path) == 0)
        let pull = try BodyPull(body)
        #expect(openDescriptors(on: path) == 0)
        _ = try await pull.next(room: 1_000)
        _ = try await pull.next(room: 1_000)
        #expect(openDescriptors(on: path) == 1)
        pull.reader.close()
        await untilClosed(path)
        #expect(openDescriptors(on: path) == 0)
        #expect(await BodyError.Code.thrown { _ = try await pull.next(room: 10) } == .readerClosed)
        _ = try await allBytes(of: body)
        await untilClosed(path)
        #expect(openDescriptors(on: path) == 0)
    }

    @Test func `a form of many files has at most one of them open`() async throws {
        var form = MultipartForm()
        let paths = try (0..<20).map { try directory.file("f\($0)", pattern(5_000, seed: UInt64($0))) }
        for path in paths { form.append(.file("f", path: path)) }
        let pull = try BodyPull(try await form.prepared())
        while try await pull.next(room: 3_000) != nil {
            #expect(openDescriptors(onAnyOf: Set(paths)) <= 1)
        }
    }

    @Test func `the pool returns the same bytes to forty concurrent readers`() async throws {
        let bytes = (0..<4).map { pattern(400_000, seed: $0) }
        let paths = try bytes.enumerated().map { try directory.file("p\($0.offset)", $0.element) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<40 {
                group.addTask {
                    var body = try FileBody(path: paths[index % 4])
                    body.disk.allowsNonblocking = false
                    let steps = Locked<[DiskAccess.Step]>([])
                    body.disk.fault = { step in
                        #expect(isOnPool())
                        steps.withLock { $0.append(step) }
                        return nil
                    }
                    let pull = try BodyPull(body)
                    #expect(try await pull.rest(room: 50_000 + index) == bytes[index % 4])
                    #expect(pull.waits >= 2)
                    #expect(steps.withLock { $0 } == [.open, .read, .read, .check, .verify])
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `closing during a pool read leaves the descriptor to that read`() async throws {
        let path = try directory.file("a", pattern(150_000))
        let reading = WakeSignal()
        let canContinue = Gate()
        var body = try FileBody(path: path)
        body.disk.allowsNonblocking = false
        body.disk.fault = { step in
            guard step == .read else { return nil }
            reading.wake()
            canContinue.wait()
            return nil
        }
        let pull = try BodyPull(body)
        let woken = Locked(0)
        let reader = try body.makeReader { woken.withLock { $0 += 1 } }
        withExtendedLifetime(pull) {}
        // The first read opens the file; the read after the wake-up requests bytes.
        while try read(reader) == .later, woken.withLock({ $0 }) == 0 { await Task.yield() }
        #expect(try read(reader) == .later)
        await reading.wait()
        #expect(openDescriptors(on: path) == 1)
        reader.close()
        #expect(openDescriptors(on: path) == 1)
        let wakeUps = woken.withLock { $0 }
        canContinue.open()
        await untilClosed(path)
        #expect(openDescriptors(on: path) == 0)
        #expect(woken.withLock { $0 } == wakeUps)
    }

    @Test(arguments: [false, true])
    func `a failure of any disk step ends the form with its error and without its boundary`(
        throughPool: Bool
    ) async throws {
        let path = try directory.file("a", pattern(600_000))
        var succeeded = false
        for failing in 1...100 where !succeeded {
            var body = try await MultipartForm([.text("t", "v"), .file("FILE", path: path)]).prepared()
            let steps = Locked(0)
            body.disk.allowsNonblocking = !throughPool
            body.disk.fault = { _ in
                let count = steps.withLock { steps in
                    steps += 1
                    return steps
                }
                return count == failing ? EIO : nil
            }
            let pull = try BodyPull(body)
            do {
                #expect(Int64(try await pull.rest(room: 100_000).count) == body.contentLength)
                succeeded = true
                #expect(failing > 5)
            } catch let error as BodyError {
                #expect(error.code == .readFailed && error.part == "FILE" && error.message.contains("errno 5"))
                #expect(!contains("--\(body.boundary)--", in: pull.received))
            }
            pull.reader.close()
        }
        #expect(succeeded)
        await untilClosed(path)
        #expect(openDescriptors(on: path) == 0)
    }

    @Test func `interrupted reads and reads that would block are not errors`() async throws {
        let bytes = pattern(600_000)
        let path = try directory.file("a", bytes)
        for number in [EINTR, EAGAIN, EOPNOTSUPP] {
            var body = try FileBody(path: path)
            let steps = Locked(0)
            body.disk.fault = { step in
                guard step == .read else { return nil }
                let count = steps.withLock { steps in
                    steps += 1
                    return steps
                }
                // Fails only the non-blocking read; the pool's own read follows it.
                return count % 3 == 1 && (number != EOPNOTSUPP || count == 1) ? number : nil
            }
            #expect(try await allBytes(of: body, room: 100_000) == bytes)
        }
    }

    private func read(_ reader: any BodyReader) throws -> BodyRead {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_000, alignment: 1)
        defer { unsafe room.deallocate() }
        var output = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        let answer = Result { try reader.read(into: &output) }
        _ = unsafe output.finalize(for: room)
        return try answer.get()
    }

    /// Waits until the last user of a path's descriptors has closed them. The suite's time limit ends a wait in vain.
    private func untilClosed(_ path: String) async {
        while openDescriptors(on: path) > 0, !Task.isCancelled { await Task.yield() }
    }
}

/// Returns whether this thread belongs to the pool: only pool threads block every signal.
private func isOnPool() -> Bool {
    var blocked = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, nil, &blocked)
    return unsafe sigismember(&blocked, SIGUSR2) == 1
}

/// Blocks threads until it is opened.
@safe private final class Gate: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    func wait() { unsafe sem_wait(semaphore) }
    func open() { unsafe sem_post(semaphore) }
}
