import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillMultipart
import WaybillTesting

@testable import Waybill

// The records from which another session or process continues.

extension ResumableUploadTests {
    @Test func `another session continues a form from its record`() async throws {
        let server = try ResumableServer(.draft8)
        server.script(.on(.append, 2, .cut(afterBytes: 50_000, keeping: .first(20_000), closing: .reset)))
        var options = options(records: true)
        options.retry = .none
        let form = try form
        await #expect(throws: UploadError.self) { try await session().upload(form, to: server.url(), options: options) }
        #expect(try records.names().count == 1)
        _ = try await session().upload(form, to: server.url(), options: options)
        #expect(server.uploads.count == 1)
        // The form, and the append that was lost in part.
        let received = server.requests.reduce(0) { $0 + $1.bodyBytes }
        #expect(received < 302_000)
        let content = try #require(server.applicationRuns.first)
        let stored = try RecordedForm(
            body: content.bytes, contentType: content.value(of: "Content-Type") ?? "")
        #expect(stored.parts[1].bytes == SeededGenerator.pattern(250_000))
        #expect(try records.names().isEmpty)
    }

    @Test func `a record holds no field, no credential and no file name`() async throws {
        let server = try ResumableServer(.draft8)
        server.script(.on(.append, 2, .cut(afterBytes: 0, keeping: .all, closing: .reset)))
        var options = options(records: true)
        options.retry = .none
        _ = try? await session().upload(
            try form, to: server.url("/files?token=abcdef"), headers: [.authorization: "Bearer x9"], options: options)
        let name = try #require(try records.names().first { $0.hasSuffix(".json") })
        let text = String(decoding: try records.read(name), as: UTF8.self)
        #expect(text.contains("/uploads/1"))
        for secret in ["s3cr3t", "x9", "abcdef", "card.bin"] { #expect(!text.contains(secret)) }
    }

    @Test func `a record is valid for a process with shorter appends`() async throws {
        let server = try ResumableServer(.tus)
        server.script(.on(.append, 1, .cut(afterBytes: 90_000, keeping: .all, closing: .reset)))
        var options = options(.tus, records: true)
        options.retry = .none
        let body = SeededGenerator.pattern(300_000)
        _ = try? await session().upload(.data(body), to: server.url(), options: options)
        options.resume?.firstAppend = .bytes(20_000)
        options.resume?.maximumAppend = .bytes(20_000)
        _ = try await session().upload(.data(body), to: server.url(), options: options)
        #expect(server.uploads.count == 1)
        #expect(server.applicationRuns.map(\.bytes) == [body])
    }

    @Test func `a record whose URL is not that of an upload does not fail forever`() async throws {
        let server = try ResumableServer(.tus)
        server.script(.on(.append, 1, .cut(afterBytes: 90_000, keeping: .all, closing: .reset)))
        var options = options(.tus, records: true)
        options.retry = .none
        let body = SeededGenerator.pattern(300_000)
        _ = try? await session().upload(.data(body), to: server.url(), options: options)
        server.script(.on(.offset, .every, .changeFields([("Upload-Offset", nil)])))
        let error = await #expect(throws: UploadError.self) {
            try await session().upload(.data(body), to: server.url(), options: options)
        }
        #expect(error?.code == .resumptionFailed)
        _ = try await session().upload(.data(body), to: server.url(), options: options)
        #expect(server.uploads.count == 2 && server.applicationRuns.map(\.bytes) == [body])
    }

    @Test func `an upload at another origin that does not respond is kept`() async throws {
        let server = try ResumableServer(.tus)
        // Another origin of the same server.
        server.configure { $0.location = .origin("http://localhost:\(server.port)") }
        server.script(
            .on(.append, 1, .cut(afterBytes: 90_000, keeping: .all, closing: .reset)),
            .on(.offset, .every, .loseResponse(.reset)))
        var options = options(.tus, records: true)
        options.retry = .none
        let body = SeededGenerator.pattern(300_000)
        for _ in 0..<3 { _ = try? await session().upload(.data(body), to: server.url(), options: options) }
        server.clearScript()
        _ = try await session().upload(.data(body), to: server.url(), options: options)
        #expect(server.uploads.count == 1)
        #expect(server.applicationRuns.map(\.bytes) == [body])
    }

    @Test func `a changed file starts a new upload`() async throws {
        let server = try ResumableServer(.tus)
        server.script(.on(.append, 1, .cut(afterBytes: 0, keeping: .all, closing: .reset)))
        var options = options(.tus, records: true)
        options.retry = .none
        let path = try directory.write("scan.bin", SeededGenerator.pattern(300_000))
        _ = try? await session().upload(.file(path: path), to: server.url(), options: options)
        let changed = Array(SeededGenerator.pattern(300_001).dropFirst())
        _ = try directory.write("scan.bin", changed)
        _ = try await session().upload(.file(path: path), to: server.url(), options: options)
        #expect(server.uploads.count == 2)
        #expect(server.applicationRuns.map(\.bytes) == [changed])
    }

    @Test func `two uploads of one body do not share a record`() async throws {
        let server = try ResumableServer(.tus)
        let body = SeededGenerator.pattern(300_000)
        let (session, options) = (session(), options(.tus, records: true))
        async let first = session.upload(.data(body), to: server.url(), options: options)
        async let second = session.upload(.data(body), to: server.url(), options: options)
        _ = try await (first, second)
        #expect(server.applicationRuns.map(\.bytes) == [body, body])
    }
}
