import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillMultipart
import WaybillTesting

@testable import Waybill

/// Resumable uploads through the public API, over libcurl.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ResumableUploadTests {
    let directory: TemporaryDirectory
    let records: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        records = try TemporaryDirectory()
    }

    func session(_ change: (inout UploadSession.Configuration) -> Void = { _ in }) -> UploadSession {
        var configuration = UploadSession.Configuration()
        configuration.jitter = { 0 }
        change(&configuration)
        return UploadSession(configuration: configuration)
    }

    /// Options with appends of 100,000 bytes and records in the temporary directory.
    func options(_ method: ResumeProtocol = .draft, records: Bool = false) -> UploadOptions {
        var options = UploadOptions.resumable(method)
        options.resume?.records = records ? ResumeRecordDirectory(path: self.records.path) : nil
        options.resume?.minimumLength = .bytes(1)
        options.resume?.firstAppend = .bytes(100_000)
        options.resume?.maximumAppend = .bytes(100_000)
        options.resume?.appendMultiple = .bytes(1_000)
        return options
    }

    var form: MultipartForm {
        get throws {
            let path = try directory.write("card.bin", SeededGenerator.pattern(250_000))
            return [.text("TOKEN", .secret("s3cr3t")), .file("FILE", path: path), .text("LAST", "x")]
        }
    }

    @Test func `a form of fields and a file arrives in appends`() async throws {
        let server = try ResumableServer(.draft8)
        let form = try form
        let body = try await form.prepared()
        let response = try await session().upload(.body(body), to: server.url(), options: options())
        #expect(response.text == "stored")
        let run = try #require(server.applicationRuns.first)
        var bytes: [UInt8] = []
        for try await chunk in body.chunks { bytes += chunk }
        #expect(run.bytes == bytes)
        #expect(run.value(of: "Content-Type") == body.contentType)
        #expect(run.method == "POST")
        #expect(server.requests.filter { $0.kind == .append }.count == 2)
    }

    @Test func `an interrupted form continues at the same boundary`() async throws {
        let server = try ResumableServer(.draft8)
        server.script(.on(.append, 2, .cut(afterBytes: 50_000, keeping: .first(30_000), closing: .reset)))
        let response = try await session().upload(try form, to: server.url(), options: options())
        #expect(response.attempts.count == 2)
        let content = try #require(server.applicationRuns.first)
        let received = try RecordedForm(
            body: content.bytes, contentType: content.value(of: "Content-Type") ?? "")
        #expect(received.names == ["TOKEN", "FILE", "LAST"])
        #expect(received.parts[1].bytes == SeededGenerator.pattern(250_000))
    }

    @Test func `a stream continues from its copy`() async throws {
        let bytes = SeededGenerator.pattern(330_000)
        let chunks = AsyncStream<[UInt8]> { continuation in
            for start in stride(from: 0, to: bytes.count, by: 7_000) {
                continuation.yield(Array(bytes[start..<min(start + 7_000, bytes.count)]))
            }
            continuation.finish()
        }
        let server = try ResumableServer(.tus)
        server.script(
            .on(.append, 1, .cut(afterBytes: 60_000, keeping: .first(10_000), closing: .reset)),
            .on(.append, 2, .loseResponse(.reset)))
        _ = try await session().upload(
            .stream(chunks, length: Int64(bytes.count), replay: .fromCopy), to: server.url(), options: options(.tus))
        #expect(server.applicationRuns.map(\.bytes) == [bytes])
    }

    @Test func `a stream of unknown length that fails is removed from the server`() async throws {
        struct Broken: Error {}
        let server = try ResumableServer(.draft8)
        let chunks = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.yield([UInt8](repeating: 1, count: 150_000))
            continuation.finish(throwing: Broken())
        }
        let error = await #expect(throws: UploadError.self) {
            try await session().upload(.stream(chunks, replay: .fromCopy), to: server.url(), options: options())
        }
        #expect(error?.code == .streamFailed)
        #expect(error?.outcome == .incomplete(acknowledged: 100_000))
        try await server.waitUntil { $0.requests(.delete).count == 1 }
        #expect(server.applicationRuns.isEmpty)
    }

    @Test func `an upload is cancelled while its stream has no bytes`() async throws {
        let server = try ResumableServer(.tus)
        let (chunks, continuation) = AsyncStream<[UInt8]>.makeStream()
        continuation.yield([UInt8](repeating: 1, count: 100_001))
        let task = session().start(
            .stream(chunks, replay: .fromCopy), to: server.url(), options: options(.tus))
        try await server.waitUntil { $0.requests(.append).contains { $0.isOver } }
        task.cancel()
        let error = await #expect(throws: UploadError.self) { try await task.response }
        #expect(error?.isCancelled == true)
        try await server.waitUntil { $0.requests(.delete).count == 1 }
        continuation.finish()
    }

    @Test func `a stream that can be read once needs a copy`() async throws {
        let server = try ResumableServer(.tus)
        let chunks = AsyncStream<[UInt8]> { $0.finish() }
        let error = await #expect(throws: UploadError.self) {
            try await session().upload(.stream(chunks, length: 0), to: server.url(), options: options(.tus))
        }
        #expect(error?.code == .resumptionUnsupported)
        #expect(server.requests.isEmpty)
    }

    @Test func `progress reports what the server has stored`() async throws {
        let server = try ResumableServer(.draft8) { $0.interimEvery = 40_000 }
        let seen = Watched<[StoredProgress]>([])
        _ = try await session().upload(
            .data(SeededGenerator.pattern(300_000)), to: server.url(), options: options()
        ) { progress in
            if let stored = progress.stored { seen.update { $0.append(stored) } }
        }
        #expect(seen.value.last?.bytes == 300_000)
        #expect(seen.value.allSatisfy { $0.bytes <= 300_000 })
    }

    @Test func `the stored bytes decrease when the server discards them`() async throws {
        let server = try ResumableServer(.draft8)
        let interim = ScriptedResponse(
            104, headers: [("Upload-Draft-Interop-Version", "8"), ("Upload-Offset", "150000")])
        // A listener may miss snapshots, so the server waits until it has seen each.
        let (sawMore, sawLess) = (Gate(), Gate())
        server.script(
            .on(.append, 2, .interim([interim])), .on(.append, 2, .gate(sawMore, .beforePerforming)),
            .on(.append, 2, .loseResponse(.reset)), .on(.offset, 1, .gate(sawLess, .beforePerforming)))
        server.once({ $0.requests(.offset).count == 1 }) { server.loseBytes(of: "1", to: 100_000) }
        let most = Watched<Int64>(0)
        _ = try await session().upload(
            .data(SeededGenerator.pattern(300_000)), to: server.url(), options: options()
        ) { progress in
            guard let stored = progress.stored?.bytes else { return }
            if stored == 150_000 { sawMore.open() }
            if most.value == 150_000, stored == 100_000 { sawLess.open() }
            most.update { $0 = max($0, stored) }
        }
        #expect(server.applicationRuns.count == 1)
    }

    @Test func `a new attempt begins at the confirmed bytes, and all are stored at the end`() async throws {
        let server = try ResumableServer(.draft8)
        server.script(.on(.append, 2, .cut(afterBytes: 0, keeping: .none, closing: .reset)))
        let seen = Watched<[UploadProgress]>([])
        _ = try await session().upload(
            .data(SeededGenerator.pattern(300_000)), to: server.url(), options: options()
        ) { progress in
            seen.update { $0.append(progress) }
        }
        let second = seen.value.filter { $0.attempt == 2 && $0.phase != .retrying }
        #expect(!second.isEmpty && second.allSatisfy { $0.acknowledged >= 100_000 })
        let last = try #require(seen.value.last)
        #expect(last.stored == StoredProgress(bytes: 300_000, isConfirmed: true))
        #expect(last.acknowledged == 300_000)
    }

    // MARK: - The end

    @Test func `a cancelled upload is removed from the server`() async throws {
        let server = try ResumableServer(.draft8)
        let gate = Gate()
        server.script(.on(.append, 2, .gate(gate, .beforePerforming)))
        let task = session().start(.data(SeededGenerator.pattern(300_000)), to: server.url(), options: options())
        try await server.waitUntil { $0.requests(.append).count == 2 }
        task.cancel()
        let error = try #require(await task.error())
        #expect(error.code == .cancelled)
        gate.open()
        try await server.waitUntil { $0.requests(.delete).count == 1 }
        #expect(server.applicationRuns.isEmpty)
    }

    @Test func `the removal of a cancelled upload passes the interceptors`() async throws {
        struct Signer: UploadInterceptor {
            func adapt(_ request: inout OutgoingRequest) async throws {
                request.headers[HTTPField.Name("X-Signature")!] = request.method.rawValue
            }
        }
        let server = try ResumableServer(.draft8)
        let gate = Gate()
        server.script(.on(.append, 2, .gate(gate, .beforePerforming)))
        let session = session { $0.interceptors = [Signer()] }
        let task = session.start(.data(SeededGenerator.pattern(300_000)), to: server.url(), options: options())
        try await server.waitUntil { $0.requests(.append).count == 2 }
        task.cancel()
        _ = await task.error()
        gate.open()
        try await server.waitUntil { $0.requests(.delete).count == 1 }
        #expect(server.requests.allSatisfy { $0.value(of: "X-Signature") == $0.method })
    }

    @Test func `a file that changes between two attempts ends the upload`() async throws {
        let path = try directory.write("scan.bin", SeededGenerator.pattern(300_000))
        let server = try ResumableServer(.tus)
        server.script(.on(.append, 1, .cut(afterBytes: 10, keeping: .all, closing: .reset)))
        server.once({ $0.requests(.offset).count == 1 }) {
            _ = try? directory.write("scan.bin", SeededGenerator.pattern(300_001))
        }
        let error = await #expect(throws: UploadError.self) {
            try await session().upload(.file(path: path), to: server.url(), options: options(.tus))
        }
        #expect(error?.code == .sourceChanged)
        try await server.waitUntil { $0.requests(.delete).count == 1 }
        #expect(server.applicationRuns.isEmpty)
    }

    @Test func `a paused upload continues where the server stored it`() async throws {
        let server = try ResumableServer(.draft8)
        let gate = Gate()
        server.script(.on(.append, 2, .gate(gate, .beforePerforming)))
        let session = session { $0.pauseKeepsSlot = .zero }
        let body = SeededGenerator.pattern(300_000)
        let task = session.start(.data(body), to: server.url(), options: options())
        try await server.waitUntil { $0.requests(.append).count == 2 }
        task.pause()
        gate.open()
        task.resume()
        _ = try await task.response
        #expect(server.applicationRuns.map(\.bytes) == [body])
    }

    @Test func `an append is not halved after a creation whose content was stored in part`() async throws {
        let server = try ResumableServer(.draft8)
        server.script(.on(.create, 2, .cut(afterBytes: 60_000, keeping: .all, closing: .reset)))
        let session = session()
        let body = Array(SeededGenerator.pattern(300_000))
        // After the first response with 104, the session sends content with a creation.
        for _ in 1...2 { _ = try await session.upload(.data(body), to: server.url(), options: options()) }
        #expect(server.applicationRuns.map(\.bytes) == [body, body])
        let appends = server.requests.filter { $0.upload == "2" && $0.kind == .append }
        #expect(appends.first?.claimedOffset == 60_000 && appends.first?.bodyBytes == 100_000)
    }

    // MARK: - Credentials

    @Test func `a refreshed credential continues the same upload`() async throws {
        let server = try ResumableServer(.draft8)
        server.script(.on(.append, 2, .respond(ScriptedResponse(401))))
        let refresher = Refresher()
        var options = options()
        options.authentication = .refreshing(refresher)
        _ = try await session().upload(.data(SeededGenerator.pattern(300_000)), to: server.url(), options: options)
        #expect(server.uploads.count == 1)
        let values = server.requests.map { $0.value(of: "Authorization") }
        #expect(values.first == "Bearer 1" && values.last == "Bearer 2")
    }

    @Test func `credentials are not sent to an upload at another origin`() async throws {
        let other = try ResumableServer(.draft8)
        let server = try ResumableServer(.draft8) { settings in
            settings.location = .origin("http://127.0.0.1:\(other.port)")
            settings.sendsInterim = false
        }
        var options = options()
        options.retry = .none
        _ = try? await session().upload(
            .data(SeededGenerator.pattern(300_000)), to: server.url(),
            headers: [.authorization: "Bearer x", .cookie: "a=b"],
            options: options)
        let requests = other.requests
        #expect(!requests.isEmpty)
        #expect(requests.allSatisfy { $0.value(of: "Authorization") == nil && $0.value(of: "Cookie") == nil })
    }

    @Test func `an honoured idempotency key is sent with the creation of a tus upload`() async throws {
        let server = try ResumableServer(.tus)
        server.script(.on(.create, 1, .respond(ScriptedResponse(500))))
        var options = options(.tus)
        options.idempotency = .honoured(window: .seconds(600))
        options.retry.statuses = [500]
        _ = try await session().upload(
            .data(SeededGenerator.pattern(50_000)), to: server.url(), method: .post, options: options)
        let keys = server.state.requests(.create).map { $0.value(of: "Idempotency-Key") }
        #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1])
    }
}

/// Returns another credential at each refresh.
private final class Refresher: CredentialRefresher {
    private let count = Locked(1)
    var current: Secret? { .secret("Bearer \(count.withLock { $0 })") }

    func refresh(rejected: Secret?) async throws -> Secret {
        .secret("Bearer \(count.withLock { count in count += 1; return count })")
    }
}
