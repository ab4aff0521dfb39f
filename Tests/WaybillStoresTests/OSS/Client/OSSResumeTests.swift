import FoundationEssentials
import Glibc
import TestSupport
import Testing
import Waybill
import WaybillCore
import WaybillMultipart

@testable import WaybillStores

@Suite(.timeLimit(.minutes(3 * Slowness.factor))) struct `Interrupted OSS uploads` {
    @Test(arguments: [1, 5])
    func `an upload cancelled at random resumes without sending stored parts`(_ atOnce: Int) async throws {
        var random = SeededGenerator()
        var settings = OSSStoreSettings()
        settings.largestPage = 4
        let fixture = try OSSFixture(settings) { configuration, _ in configuration.maximumConcurrentParts = atOnce }
        let file = try fixture.file(30 * 102_400 + 7)
        var resumed = 0
        for round in 1...6 {
            // Parts that are in flight at the cancellation may still be stored, and the upload must not become complete.
            guard fixture.stored + 4 + 2 * atOnce < 31 else { break }
            let wanted = fixture.stored + Int.random(in: 1...4, using: &random)
            let upload = fixture.client.startUpload(file: file.path, to: "k")
            fixture.store.once({ $0.uploads.values.map(\.parts.count).reduce(0, +) >= wanted }) { upload.cancel() }
            _ = await upload.end()
            try await fixture.store.settled()
            if round > 1 { resumed += 1 }
        }
        let stored = try await fixture.client.upload(file: file.path, to: "k")
        guard case .resumed(let parts) = stored.beginning else {
            Issue.record("it began \(stored.beginning), seed \(random.seed)")
            return
        }
        #expect(parts >= 6)
        #expect(stored.checksum == CRC(.ecma, of: file.bytes).value)
        #expect(fixture.store.object("k")?.content.crc64 == stored.checksum)
        #expect(fixture.count(.initiate) == 1)
        for (part, count) in fixture.store.state.counts {
            #expect(count.resentAfterStored == 0, "part \(part.number), seed \(random.seed)")
            #expect(count.peakInFlight == 1, "part \(part.number), seed \(random.seed)")
            #expect(count.stored <= 1)
        }
        #expect(fixture.records.isEmpty)
    }

    @Test func `a stale record is completed by reading the file, not by sending`() async throws {
        let fixture = try OSSFixture { configuration, _ in configuration.maximumConcurrentParts = 1 }
        let file = try fixture.file(500_000)
        fixture.store.fail(.html(status: 403), on: .uploadPart, part: 4)
        _ = try await storeError { try await fixture.client.upload(file: file.path, to: "k") }
        // The store is right, whatever the record contains.
        try await fixture.rewriteRecord(file.path) { $0.parts = [] }
        let stored = try await fixture.client.upload(file: file.path, to: "k")
        #expect(stored.beginning == .resumed(parts: 3))
        #expect(fixture.store.state.counts.values.allSatisfy { $0.resentAfterStored == 0 })
        #expect(stored.checksum == CRC(.ecma, of: file.bytes).value)
    }

    @Test(arguments: [true, false])
    func `an upload is resumed with other options only if its record has none`(_ hasOptions: Bool) async throws {
        let fixture = try OSSFixture { configuration, _ in configuration.maximumConcurrentParts = 1 }
        let file = try fixture.file(500_000)
        fixture.store.fail(.html(status: 403), on: .uploadPart, part: 4)
        _ = try await storeError { try await fixture.client.upload(file: file.path, to: "k") }
        if !hasOptions { try await fixture.rewriteRecord(file.path) { $0.subject.options = nil } }
        var options = OSSObjectOptions()
        options.metadata = ["author": "alice"]
        let stored = try await fixture.client.upload(file: file.path, to: "k", options: options)
        #expect(
            stored.beginning
                == (hasOptions ? .afterDiscarding("the options of the object changed") : .resumed(parts: 3)))
    }

    @Test func `the MD5 of a stored part matches the file`() async throws {
        let fixture = try OSSFixture { configuration, _ in configuration.maximumConcurrentParts = 1 }
        let file = try fixture.file(300_000)
        let source = try await SourceFile.look(at: file.path)
        let digest = try await FileBody.digest(of: 0..<102_400, in: source)
        fixture.store.fail(.html(status: 403), on: .uploadPart, part: 2)
        _ = try await storeError { try await fixture.client.upload(file: file.path, to: "k") }
        #expect(fixture.store.state.uploads.values.first?.parts[1]?.md5 == digest)
    }

    @Test func `a part with other bytes than the file is sent again`() async throws {
        let fixture = try OSSFixture { configuration, _ in configuration.maximumConcurrentParts = 1 }
        let file = try fixture.file(300_000)
        fixture.store.fail(.html(status: 403), on: .uploadPart, part: 3)
        _ = try await storeError { try await fixture.client.upload(file: file.path, to: "k") }
        try await fixture.rewriteRecord(file.path) { $0.parts[0].checksum = "7" }
        let stored = try await fixture.client.upload(file: file.path, to: "k")
        #expect(stored.beginning == .resumed(parts: 1))
        #expect(stored.checksum == CRC(.ecma, of: file.bytes).value)
    }

    @Test func `an upload unknown to the store starts again and reports it`() async throws {
        let fixture = try OSSFixture()
        let file = try fixture.file(300_000)
        fixture.store.fail(.html(status: 403), on: .uploadPart, part: 2)
        _ = try await storeError { try await fixture.client.upload(file: file.path, to: "k") }
        let id = try #require(fixture.store.state.uploads.keys.first)
        fixture.store.abort(id)
        let stored = try await fixture.client.upload(file: file.path, to: "k")
        #expect(stored.beginning == .afterDiscarding("the store no longer knows the upload"))
        #expect(stored.checksum == CRC(.ecma, of: file.bytes).value)
    }

    @Test func `an object completed without a response is found by the next run`() async throws {
        let fixture = try OSSFixture()
        let file = try fixture.file(300_000)
        fixture.store.fail(.storeThenDrop, on: .complete)
        fixture.store.fail(.html(status: 403), on: .headObject)
        let error = try await storeError { try await fixture.client.upload(file: file.path, to: "k") }
        #expect(error.outcome == .unknown)
        #expect(fixture.records.count == 1)
        let parts = fixture.count(.uploadPart)
        let stored = try await fixture.client.upload(file: file.path, to: "k")
        #expect(stored.wasFoundStored)
        #expect(fixture.count(.uploadPart) == parts)
        #expect(fixture.store.object("k")?.timesStored == 1)
        #expect(fixture.records.isEmpty)
    }

    @Test func `a torn record, or one with another part size, is dropped with a reason`() async throws {
        let fixture = try OSSFixture()
        let file = try fixture.file(300_000)
        func begin() async throws {
            fixture.store.fail(.html(status: 403), on: .uploadPart, part: 2)
            _ = try await storeError { try await fixture.client.upload(file: file.path, to: "k") }
        }
        try await begin()
        let path = "\(fixture.directory.path("records"))/\(try #require(fixture.records.first))"
        try #require(unsafe truncate(path, 100) == 0)
        let torn = try await fixture.client.upload(file: file.path, to: "k")
        #expect(torn.beginning == .afterDiscarding("the record is corrupt, or not a record"))
        try await begin()
        var other = OSSMultipartOptions()
        other.partSize = .bytes(150_000)
        let stored = try await fixture.client.upload(file: file.path, to: "k", multipart: other)
        let reason = "the part size is 102400 bytes in the record, but 150000 in the configuration"
        #expect(stored.beginning == .afterDiscarding(reason))
        try await begin()
        try #require(unsafe chmod(path, 0o644) == 0)
        let error = try await storeError { try await fixture.client.upload(file: file.path, to: "k") }
        #expect(error.code == .recordRefused)
    }

    @Test func `records contain no key, token or signature, and printed values no upload ID`()
        async throws
    {
        let fixture = try OSSFixture(
            credentials: CredentialProvider.fixed(
                StoreCredentials(
                    accessKeyID: "ak", accessKeySecret: .secret("sk"), securityToken: .secret("TOKEN-OF-MINE"))))
        let file = try fixture.file(300_000)
        fixture.store.fail(.html(status: 403), on: .uploadPart, part: 2, times: nil)
        let error = try await storeError { try await fixture.client.upload(file: file.path, to: "k") }
        for name in fixture.records {
            let text = String(decoding: try readFile("\(fixture.directory.path("records"))/\(name)"), as: UTF8.self)
            #expect(!text.contains("TOKEN-OF-MINE") && !text.contains("OSS4-HMAC") && !text.contains("\"sk\""))
        }
        var dumped = ""
        dump(error, to: &dumped)
        dump(fixture.client.startUpload(file: file.path, to: "k"), to: &dumped)
        let printed = "\(error) \(String(reflecting: error)) \(dumped)"
        for id in fixture.store.state.uploads.keys { #expect(!printed.contains(id)) }
        #expect(!printed.contains("TOKEN-OF-MINE"))
    }
}

extension OSSFixture {
    /// The number of parts that the store has of incomplete uploads.
    var stored: Int { store.state.uploads.values.map(\.parts.count).reduce(0, +) }

    /// Changes the record of the upload of a file to `k`.
    func rewriteRecord(_ path: String, _ change: (inout ResumeRecord) -> Void) async throws {
        let folder = try #require(client.configuration.records)
        let source = try await SourceFile.look(at: path)
        let subject = ResumeSubject(
            endpoint: client.configuration.endpoint.text, bucket: "examplebucket", key: "k", source: source, path: path,
            partSize: client.configuration.partSize.bytes)
        let claim = try await folder.claim(subject)
        // Immediately: the thread that saves it may hold it a moment longer.
        defer { claim.close() }
        guard case .usable(var record) = try await claim.load(subject, at: 0) else {
            Issue.record("there is no record to change")
            return
        }
        change(&record)
        try await claim.save(record)
    }
}
