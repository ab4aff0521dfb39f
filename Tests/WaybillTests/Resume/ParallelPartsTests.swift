import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

/// Parallel parts of a tus upload through the public API, over libcurl.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ParallelPartsTests {
    private let records: TemporaryDirectory
    private let body = SeededGenerator.pattern(900_000)

    init() throws {
        records = try TemporaryDirectory()
    }

    private func session(_ change: (inout UploadSession.Configuration) -> Void = { _ in }) -> UploadSession {
        var configuration = UploadSession.Configuration()
        configuration.jitter = { 0 }
        change(&configuration)
        return UploadSession(configuration: configuration)
    }

    /// Options with three parts, appends of 100,000 bytes, and records in the temporary directory.
    private func options(retries: Int = 3) -> UploadOptions {
        var options = UploadOptions.resumable(.tus)
        options.resume?.records = ResumeRecordDirectory(path: records.path)
        options.resume?.minimumLength = .bytes(1)
        options.resume?.parallelParts = 3
        options.resume?.firstAppend = .bytes(100_000)
        options.resume?.maximumAppend = .bytes(100_000)
        options.resume?.appendMultiple = .bytes(1_000)
        options.retry.maxRetries = retries
        return options
    }

    /// A server whose parts are created without content.
    private func server(_ change: (inout ResumableServer.Settings) -> Void = { _ in }) throws -> ResumableServer {
        try ResumableServer(.tus) { settings in
            settings.tusExtensions.removeAll { $0 == "creation-with-upload" }
            change(&settings)
        }
    }

    private func upload(to server: ResumableServer, _ options: UploadOptions) async throws -> UploadResponse {
        try await session().upload(.data(body), to: server.url(), options: options)
    }

    @Test func `parts are sent concurrently`() async throws {
        let server = try server()
        let gate = Gate()
        server.script(.on(.append, 1, .gate(gate, .beforePerforming)))
        server.once({ Set($0.requests(.append).map(\.upload)).count == 3 }) { gate.open() }
        let response = try await upload(to: server, options())
        #expect(response.uploadURL == server.url("/uploads/4"))
        #expect(response.status.code == 201)
        #expect(response.attempts.count == 1)
        #expect(server.applicationRuns.map(\.bytes) == [body])
    }

    @Test(arguments: [true, false]) func `joined parts are not used for another attempt`(_ keeps: Bool) async throws {
        let server = try server { $0.keepsParts = keeps }
        let count = Locked(0)
        let judge = ClosureInterceptor.judging("once more") { _ in
            count.withLock { count in
                count += 1
                return count == 1 ? .retry() : .accepted
            }
        }
        let session = session { $0.interceptors = [judge] }
        _ = try await session.upload(.data(body), to: server.url(), options: options())
        #expect(server.applicationRuns.map(\.bytes) == [body, body])
    }

    @Test func `a file is read in parts`() async throws {
        let files = try TemporaryDirectory()
        let path = try files.write("scan.bin", body)
        let server = try server()
        _ = try await session().upload(.file(path: path), to: server.url(), options: options())
        #expect(server.applicationRuns.map(\.bytes) == [body])
        #expect(String(decoding: server.applicationRuns[0].metadata["filename"] ?? [], as: UTF8.self) == "scan.bin")
    }

    @Test func `a stream is sent in order, because its copy has one reader`() async throws {
        let chunks = AsyncStream<[UInt8]> { [body] continuation in
            for start in stride(from: 0, to: body.count, by: 90_000) {
                continuation.yield(Array(body[start..<start + 90_000]))
            }
            continuation.finish()
        }
        let server = try server()
        _ = try await session().upload(
            .stream(chunks, length: Int64(body.count), replay: .fromCopy), to: server.url(), options: options())
        #expect(server.applicationRuns.map(\.bytes) == [body])
        #expect(server.uploads.count == 1)
    }

    @Test func `progress is the sum of the parts`() async throws {
        let server = try server()
        server.script(.on(.append, 4, .cut(afterBytes: 60_000, keeping: .first(40_000), closing: .reset)))
        let seen = Watched<[UploadProgress]>([])
        _ = try await session().upload(.data(body), to: server.url(), options: options()) { progress in
            seen.update { $0.append(progress) }
        }
        #expect(seen.value.allSatisfy { $0.sent <= 900_000 && $0.acknowledged <= $0.sent })
        #expect(seen.value.allSatisfy { $0.stored.map { $0.bytes <= 900_000 } ?? true })
        let last = try #require(seen.value.last)
        #expect(last.stored == StoredProgress(bytes: 900_000, isConfirmed: true))
        #expect(last.acknowledged == 900_000)
    }

    @Test func `a cancelled upload removes all parts from the server`() async throws {
        let server = try server()
        server.script(.on(.append, .every, .hold))
        let task = session().start(.data(body), to: server.url(), options: options())
        try await server.waitUntil { $0.requests(.append).count == 3 }
        task.cancel()
        #expect(await task.error()?.code == .cancelled)
        let state = try await server.waitUntil { $0.requests(.delete).count == 3 }
        #expect(state.uploads.count == 3)
        try await server.waitUntil { $0.uploads.allSatisfy { $0.isDeleted } }
        #expect(try records.names().isEmpty)
    }

    @Test func `a paused upload continues its parts`() async throws {
        let server = try server()
        let gate = Gate()
        for number in 1...3 { server.script(.on(.append, .number(number), .gate(gate, .beforePerforming))) }
        let task = session { $0.pauseKeepsSlot = .zero }.start(.data(body), to: server.url(), options: options())
        try await server.waitUntil { $0.requests(.append).count == 3 }
        task.pause()
        gate.open()
        task.resume()
        _ = try await task.response
        #expect(server.applicationRuns.map(\.bytes) == [body])
        #expect(server.uploads.count == 4)
    }

    @Test func `a refreshed credential continues the parts`() async throws {
        let server = try server()
        server.script(.on(.append, 2, .respond(ScriptedResponse(401))))
        var options = options(retries: 0)
        options.authentication = .refreshing(Refresher())
        _ = try await upload(to: server, options)
        #expect(server.uploads.count == 4)
        #expect(server.requests.last?.value(of: "Authorization") == "Bearer 2")
    }

    @Test func `a redirected concatenation is sent to the other URL`() async throws {
        let server = try server()
        server.script(
            .on(.concatenate, 1, .respond(ScriptedResponse(308, headers: [("Location", server.url("/other"))]))))
        _ = try await upload(to: server, options())
        #expect(server.state.requests(.concatenate).map(\.path) == ["/files", "/other"])
        #expect(server.uploads.count == 4)
    }

    @Test func `with an honoured idempotency key, a lost concatenation is repeated with the same key`() async throws {
        let server = try server()
        server.script(.on(.concatenate, 1, .respond(ScriptedResponse(500))))
        var options = options()
        options.idempotency = .honoured(window: .seconds(600))
        options.retry.statuses = [500]
        _ = try await session().upload(.data(body), to: server.url(), method: .post, options: options)
        let keys = server.state.requests(.concatenate).map { $0.value(of: "Idempotency-Key") }
        #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1])
        #expect(server.state.requests(.create).allSatisfy { $0.value(of: "Idempotency-Key") == nil })
    }

    // MARK: - Records

    @Test func `another session continues all parts from one record, whatever its options`() async throws {
        let server = try server()
        server.script(.on(.append, 5, .cut(afterBytes: 50_000, keeping: .first(20_000), closing: .reset)))
        await #expect(throws: UploadError.self) { try await upload(to: server, options(retries: 0)) }
        #expect(try records.names().filter { $0.hasSuffix(".json") }.count == 1)
        var other = options()
        other.resume?.parallelParts = 1
        _ = try await upload(to: server, other)
        #expect(server.uploads.count == 4)
        #expect(server.requests.reduce(0) { $0 + $1.bodyBytes } == 930_000)
        #expect(server.applicationRuns.map(\.bytes) == [body])
        #expect(try records.names().isEmpty)
    }

    @Test(arguments: ["\"length\":299999", "\"length\":-300000", "\"length\":900000"])
    func `a record whose parts are not the whole body is ignored`(length: String) async throws {
        let server = try server()
        server.script(.on(.append, 5, .cut(afterBytes: 0, keeping: .all, closing: .reset)))
        await #expect(throws: UploadError.self) { try await upload(to: server, options(retries: 0)) }
        let name = try #require(try records.names().first { $0.hasSuffix(".json") })
        var text = String(decoding: try records.read(name), as: UTF8.self)
        text.replaceSubrange(try #require(text.firstRange(of: "\"length\":300000")), with: length)
        _ = try records.write(name, text)
        _ = try await upload(to: server, options())
        #expect(server.uploads.count == 7)
        #expect(server.applicationRuns.map(\.bytes) == [body])
    }

    @Test func `an upload in order is continued in order`() async throws {
        let server = try server()
        server.script(.on(.append, 5, .cut(afterBytes: 0, keeping: .none, closing: .reset)))
        var first = options(retries: 0)
        first.resume?.parallelParts = 1
        await #expect(throws: UploadError.self) { try await upload(to: server, first) }
        _ = try await upload(to: server, options())
        #expect(server.uploads.map(\.part) == [.whole])
    }

    @Test func `after a crash during the concatenation it is unknown, and only the next upload is new`() async throws {
        let server = try server()
        let gate = Gate()
        server.script(.on(.concatenate, 1, .gate(gate, .afterPerforming)))
        let session = session()
        let task = session.start(.data(body), to: server.url(), options: options())
        try await server.waitUntil { $0.applicationRuns.count == 1 }
        // The session leaves the record, as a crash does.
        await session.close(.cancel)
        #expect(await task.error()?.outcome == .unknown)
        gate.open()
        let count = try await server.settled().requests.count
        let error = await #expect(throws: UploadError.self) { try await upload(to: server, options()) }
        #expect(error?.code == .responseLost && error?.outcome == .unknown)
        #expect(server.requests.count == count)
        _ = try await upload(to: server, options())
        #expect(server.applicationRuns.map(\.bytes) == [body, body])
    }

    /// Each round has a time limit of its own, because a busy disk takes long for the records of all.
    @Test(arguments: 1...20) func `a server that loses requests, responses and parts receives the body once`(
        round: Int
    ) async throws {
        var random = SeededGenerator()
        let server = try server { $0.keepsParts = .random(using: &random) }
        for number in 0..<Int.random(in: 1...5, using: &random) {
            let kind = [ResumableServer.Kind.create, .append, .finish, .offset].randomElement(using: &random)!
            // An upload that the server loses repeatedly fails.
            let fault = Self.fault(mayForget: number == 0, &random)
            server.script(.on(kind, .number(.random(in: 1...4, using: &random)), fault))
        }
        let response = try await upload(to: server, options(retries: 10))
        #expect(response.status.code == 201, "seed \(random.seed)")
        #expect(server.applicationRuns.map { $0.bytes == body } == [true], "seed \(random.seed)")
        #expect(server.violations.isEmpty, "seed \(random.seed)")
    }

    private static func fault(mayForget: Bool, _ random: inout SeededGenerator) -> ResumableServer.Fault {
        let closing: Behaviour.Closing = .random(using: &random) ? .reset : .finish
        let count = Int.random(in: 0...100_000, using: &random)
        return switch Int.random(in: 0...(mayForget ? 5 : 4), using: &random) {
        case 0: .cut(afterBytes: count, keeping: .all, closing: closing)
        case 1: .cut(afterBytes: count, keeping: .none, closing: closing)
        case 2: .loseResponse(closing)
        case 3: .truncateHead
        case 4: .respond(ScriptedResponse(503, headers: [("Retry-After", "0")]))
        default: .forget(status: .random(using: &random) ? 404 : 410)
        }
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
