import Glibc
import TestSupport
import Testing
import Waybill

/// Faults on the client's side: failing sources, changing files, cancellation, a released session.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ClientFaultTests {
    private let folder: TemporaryDirectory
    private let file: String
    private static let size = 8 << 20

    init() throws {
        folder = try TemporaryDirectory()
        file = try folder.writeSparse("card.bin", size: Self.size)
    }

    private var once: UploadOptions {
        var options = UploadOptions()
        options.retry = .none
        options.transfer.expectContinue = .never
        return options
    }

    private func request(_ shape: Shape, _ url: String) -> UploadRequest {
        switch shape {
        case .rawPUT: UploadRequest(.put, url, content: .file(path: file), options: once)
        case .multipartPOST: UploadRequest(.post, url, content: .form([.file("FILE", path: file)]), options: once)
        }
    }

    /// Waits for the failure and expects exactly one completion.
    private func failure(of task: UploadTask) async throws -> UploadError {
        let ends = Watched(0)
        task.onCompletion { _ in ends.update { $0 += 1 } }
        let error = try #require(await #expect(throws: UploadError.self) { try await task.response })
        try await ends.waitUntil { $0 > 0 }
        #expect(ends.value == 1)
        return error
    }

    @Test(arguments: [FaultRow.Place.before, .middle, .after], Shape.allCases)
    func `cancelling ends an upload at any place`(place: FaultRow.Place, shape: Shape) async throws {
        let count = FaultRow.read(place, of: Self.size)
        let server = try LoopbackServer(Behaviour([.read(count), .hold]), receiveBuffer: .kibibytes(64))
        let task = UploadSession().start(request(shape, server.url()))
        try await server.waitUntil { state in
            guard let request = state.requests.first else { return false }
            return count.map { request.bodyBytesRead >= $0 } ?? request.isComplete
        }
        task.cancel()
        let error = try await failure(of: task)
        #expect(error.code == .cancelled)
        #expect(FaultRow.Kind(error.outcome) == (place == .after ? .unknown : .incomplete), "\(error)")
        _ = try await server.peerEnd()
        #expect(server.requests.count == 1)
    }

    @Test func `cancelling before anything is sent leaves the outcome notSent`() async throws {
        var configuration = UploadSession.Configuration()
        configuration.maximumConcurrentTransfers = 1
        let session = UploadSession(configuration: configuration)
        let hole = try UnresponsivePort()
        let tasks = (0..<4).map { _ in session.start(request(.multipartPOST, hole.url())) }
        for task in tasks.reversed() {
            task.cancel()
            let error = try await failure(of: task)
            #expect(error.code == .cancelled)
            #expect(error.outcome == .notSent)
        }
    }

    @Test func `a source that throws halfway leaves the upload incomplete`() async throws {
        struct SourceError: Error {}
        let server = try LoopbackServer(otherwise: .neverRespond)
        let chunks = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.yield([UInt8](repeating: 1, count: 100_000))
            continuation.finish(throwing: SourceError())
        }
        let content = UploadContent.stream(chunks, length: 200_000)
        let error = try await failure(
            of: UploadSession().start(UploadRequest(.put, server.url(), content: content, options: once)))
        #expect(FaultRow.Kind(error.outcome) == .incomplete || error.outcome == .notSent, "\(error)")
        #expect(error.sent < 200_000)
        #expect(server.requests.allSatisfy { !$0.isComplete })
    }

    @Test(arguments: [0, 5 << 20, 12 << 20], Shape.allCases)
    func `a file truncated while it is sent never arrives complete`(newSize: Int, shape: Shape) async throws {
        let gate = Gate()
        let server = try LoopbackServer(
            Behaviour.respond(200).paused(afterBodyBytes: 100_000, until: gate), receiveBuffer: .kibibytes(64),
            keepsBodies: false)
        let task = UploadSession().start(request(shape, server.url()))
        try await server.waitUntil { ($0.requests.first?.bodyBytesRead ?? 0) >= 100_000 }
        let code = unsafe truncate(file, newSize)
        #expect(code == 0)
        gate.open()
        let error = try await failure(of: task)
        #expect(error.code == .sourceChanged, "\(error)")
        #expect(FaultRow.Kind(error.outcome) == .incomplete, "\(error)")
        #expect(server.requests.allSatisfy { !$0.isComplete })
    }

    @Test func `uploads outlive their session`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(
            otherwise: Behaviour.respond(200).paused(afterBodyBytes: 100_000, until: gate), keepsBodies: false)
        var session: UploadSession? = UploadSession()
        weak let released = session
        let tasks = (0..<8).map { index in
            session!.start(request(index.isMultiple(of: 2) ? .rawPUT : .multipartPOST, server.url()))
        }
        try await server.waitUntil { $0.requests.count == 5 }
        session = nil
        #expect(released == nil)
        gate.open()
        for task in tasks { #expect(try await task.response.status == .ok) }
        #expect(server.requests.count == 8)
    }
}
