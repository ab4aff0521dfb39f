import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct `S3 objects in parts` {
    /// Five parts of 100 KiB and one of 1,000 bytes.
    private static let content = SeededGenerator.pattern(513_000)

    /// A profile with small parts.
    private static func profile(_ profile: S3Profile = .aws) -> S3Profile {
        var profile = profile
        profile.minimumPartSize = .bytes(102_400)
        return profile
    }

    private static func fixture(
        _ base: S3Profile = .aws, _ settings: OSSStoreSettings = S3Fixture.settings,
        _ change: (inout S3Client.Configuration) -> Void = { _ in }
    ) throws -> (S3Fixture, file: String) {
        let fixture = try S3Fixture(profile(base), settings) { configuration, _ in
            configuration.partSize = .bytes(102_400)
            configuration.singleRequestLimit = .bytes(0)
            configuration.records = nil
            change(&configuration)
        }
        return (fixture, try fixture.directory.write("film.mov", content))
    }

    /// Checks that the object is stored once, and that no part was sent after the store had it.
    private static func check(_ fixture: S3Fixture, _ stored: S3StoredObject, timesStored: Int = 1) {
        let state = fixture.store.state
        let object = state.object("k")
        #expect(object?.content.bytes == content)
        #expect(object?.timesStored == timesStored)
        #expect(stored.etag == "\"\(object?.etag ?? "")\"")
        #expect(state.uploads.isEmpty)
        #expect(state.counts.values.allSatisfy { $0.resentAfterStored == 0 && $0.peakInFlight == 1 })
        #expect(fixture.store.complaints.isEmpty)
    }

    // MARK: Whole uploads

    @Test func `a file is sent in parts`() async throws {
        let (fixture, file) = try Self.fixture()
        var options = S3ObjectOptions()
        options.metadata = ["author": "alice"]
        let stored = try await fixture.client.upload(file: file, to: "k", options: options)
        Self.check(fixture, stored)
        #expect(stored.beginning == .fresh)
        #expect(stored.etag.hasSuffix("-6\""))
        #expect(fixture.count(.uploadPart) == 6)
        #expect(fixture.store.object("k")?.fields["x-amz-meta-author"] == "alice")
        #expect(fixture.store.object("k")?.fields["content-type"] == "application/octet-stream")
    }

    @Test func `a small file is sent in a single request`() async throws {
        let (fixture, file) = try Self.fixture { $0.singleRequestLimit = .bytes(513_000) }
        let stored = try await fixture.client.upload(file: file, to: "k")
        #expect(stored.beginning == .whole)
        #expect(fixture.store.state.log.map(\.operation) == [.putObject])
    }

    @Test(arguments: S3Checksum.allCases)
    func `parts are sent with the configured checksum, and the object is compared`(
        _ checksum: S3Checksum
    ) async throws {
        let (fixture, file) = try Self.fixture { $0.checksum = checksum }
        Self.check(fixture, try await fixture.client.upload(file: file, to: "k"))
        #expect(fixture.store.state.log(.uploadPart).allSatisfy { $0.value(of: checksum.field.rawName) != nil })
        let initiation = fixture.store.state.log(.initiate)[0]
        let completion = fixture.store.state.log(.complete)[0]
        let isCRC = checksum != .md5 && checksum != .sha256
        #expect(initiation.value(of: "x-amz-checksum-algorithm") == (checksum == .md5 ? nil : checksum.algorithm))
        #expect(initiation.value(of: "x-amz-checksum-type") == (isCRC ? "FULL_OBJECT" : nil))
        #expect((completion.value(of: checksum.field.rawName) != nil) == isCRC)
    }

    @Test func `nothing about checksums is sent by default`() async throws {
        let (fixture, file) = try Self.fixture()
        try await fixture.client.upload(file: file, to: "k")
        let lines = fixture.store.state.log.flatMap(\.lines).map { $0.lowercased() }
        #expect(!lines.contains { $0.hasPrefix("content-md5") || $0.hasPrefix("x-amz-checksum") })
    }

    @Test(arguments: [S3Checksum.sha256, .crc32C, .crc64NVME])
    func `an object with another checksum is sent again once`(_ checksum: S3Checksum) async throws {
        let (fixture, file) = try Self.fixture { $0.checksum = checksum }
        fixture.store.fail(.wrongChecksum, on: .complete, times: nil)
        let error = try await storeError { try await fixture.client.upload(file: file, to: "k") }
        #expect(error.code == .checksumMismatch)
        #expect(fixture.count(.complete) == 2)
    }

    @Test(arguments: [S3Checksum.sha256, .crc32C, .crc64NVME])
    func `lost responses are recovered by the checksum`(_ checksum: S3Checksum) async throws {
        let (fixture, file) = try Self.fixture(.aws) { $0.checksum = checksum }
        fixture.store.fail(.storeThenDrop, on: .uploadPart, part: 2)
        fixture.store.fail(.storeThenDrop, on: .complete)
        let stored = try await fixture.client.upload(file: file, to: "k")
        #expect(stored.wasFoundStored)
        Self.check(fixture, stored)
        #expect(fixture.count(.uploadPart) == 6)
    }

    @Test func `an upload that was begun with another checksum is not resumed`() async throws {
        let (fixture, file) = try Self.fixture()
        fixture.store.fail(.denied, on: .complete)
        _ = try await storeError { try await Self.recording(fixture).upload(file: file, to: "k") }
        let other = try Self.recording(fixture) { $0.checksum = .crc64NVME }
        let stored = try await other.upload(file: file, to: "k")
        guard case .afterDiscarding(let reason) = stored.beginning else {
            Issue.record("\(stored.beginning)")
            return
        }
        #expect(reason.contains("checksum"))
        #expect(fixture.store.state.aborted.count == 1 && fixture.store.object("k")?.timesStored == 1)
    }

    @Test func `an upload that was begun with other options is not resumed`() async throws {
        let (fixture, file) = try Self.fixture()
        fixture.store.fail(.denied, on: .complete)
        _ = try await storeError { try await Self.recording(fixture).upload(file: file, to: "k") }
        var options = S3ObjectOptions()
        options.acl = "private"
        let stored = try await Self.recording(fixture).upload(file: file, to: "k", options: options)
        #expect(stored.beginning == .afterDiscarding("the options of the object changed"))
        #expect(fixture.store.state.aborted.count == 1)
        #expect(fixture.store.object("k")?.fields["x-amz-acl"] == "private")
    }

    @Test func `a key of the client is sent with each part`() async throws {
        let (fixture, file) = try Self.fixture()
        var options = S3ObjectOptions()
        let name = HTTPField.Name("x-amz-server-side-encryption-customer-algorithm")!
        options.headers[name] = "AES256"
        try await fixture.client.upload(file: file, to: "k", options: options)
        #expect(fixture.store.state.log(.uploadPart).allSatisfy { $0.value(of: name.rawName) == "AES256" })
    }

    @Test func `the part size must be allowed by the profile`() async throws {
        let (fixture, file) = try Self.fixture { $0.partSize = .bytes(102_399) }
        let error = try await storeError { try await fixture.client.upload(file: file, to: "k") }
        #expect(error.code == .invalidArgument)
        #expect(fixture.store.state.log.isEmpty)
    }

    @Test func `a file that changes creates no object`() async throws {
        let (fixture, file) = try Self.fixture { $0.maximumConcurrentParts = 1 }
        let changed = Self.content.dropLast() + [0]
        fixture.store.onBytesReceived(bytes: 300_000) {
            _ = try? fixture.directory.write("film.mov", Array(changed))
        }
        let error = try await storeError { try await fixture.client.upload(file: file, to: "k") }
        #expect(error.code == .sourceChanged)
        #expect(fixture.store.object("k") == nil)
        #expect(fixture.store.state.uploads.isEmpty)
    }

    // MARK: Resuming

    @Test(
        arguments: [(.aws, nil), (.generic, nil), (.aws, .sha256), (.aws, .crc64NVME)] as [(S3Profile, S3Checksum?)],
        [2, 1_000])
    func `an upload is resumed with the parts that the store lists`(
        _ kind: (base: S3Profile, checksum: S3Checksum?), _ page: Int
    ) async throws {
        var settings = S3Fixture.settings
        settings.largestPage = page
        let (fixture, file) = try Self.fixture(kind.base, settings) { $0.checksum = kind.checksum }
        let client = try Self.recording(fixture)
        fixture.store.fail(.denied, on: .uploadPart, part: 5, times: 1)
        let error = try await storeError { try await client.upload(file: file, to: "k") }
        #expect(error.storeCode == "AccessDenied")
        #expect(error.part == 5)
        let listed = fixture.store.state.uploads.values.first?.parts.count ?? 0
        #expect(listed > 0)
        // Another client, as after a restart.
        let stored = try await Self.recording(fixture).upload(file: file, to: "k")
        #expect(stored.beginning == .resumed(parts: listed))
        Self.check(fixture, stored)
        #expect(try fixture.directory.names(in: "records").allSatisfy { !$0.hasSuffix(".json") })
    }

    @Test func `an abandoned upload is aborted`() async throws {
        let (fixture, file) = try Self.fixture()
        let client = try Self.recording(fixture)
        fixture.store.fail(.denied, on: .complete)
        _ = try await storeError { try await client.upload(file: file, to: "k") }
        #expect(fixture.store.state.uploads.count == 1)
        try await client.abandonUpload(file: file, to: "k")
        #expect(fixture.store.state.aborted.count == 1)
        try await client.abandonUpload(file: file, to: "k")
        #expect(fixture.count(.abort) == 1)
    }

    @Test func `an upload without a record deletes its parts when it fails`() async throws {
        let (fixture, file) = try Self.fixture()
        fixture.store.fail(.denied, on: .complete)
        _ = try await storeError { try await fixture.client.upload(file: file, to: "k") }
        #expect(fixture.store.state.uploads.isEmpty)
        #expect(fixture.store.state.aborted.count == 1)
    }

    /// Returns a client of the store that keeps records.
    private static func recording(
        _ fixture: S3Fixture, _ change: (inout S3Client.Configuration) -> Void = { _ in }
    ) throws -> S3Client {
        var configuration = fixture.client.configuration
        change(&configuration)
        configuration.records = RecordDirectory(path: fixture.directory.path("records"))
        configuration.maximumConcurrentParts = 1
        return try S3Client(
            configuration: configuration, credentials: CountedCredentials(count: fixture.fetches).provider)
    }

    // MARK: Stored objects

    private static var skipping: S3MultipartOptions {
        var multipart = S3MultipartOptions()
        multipart.skipsSame = true
        return multipart
    }

    @Test(arguments: [S3Checksum.crc32, .crc32C, .crc64NVME])
    func `a file is skipped if the store has it in parts with a CRC of the whole object`(
        _ checksum: S3Checksum
    ) async throws {
        let (fixture, file) = try Self.fixture { $0.checksum = checksum }
        #expect(try await !fixture.client.upload(file: file, to: "k", multipart: Self.skipping).wasSkipped)
        let stored = try await fixture.client.upload(file: file, to: "k", multipart: Self.skipping)
        #expect(stored.wasSkipped)
        Self.check(fixture, stored)
        // The object decides, not the configuration of the client that compares.
        let other = try Self.recording(fixture) { $0.checksum = nil }
        #expect(try await other.upload(file: file, to: "k", multipart: Self.skipping).wasSkipped)
        #expect(fixture.count(.initiate) == 1 && fixture.count(.headObject) == 3)
        let reversed = Array(Self.content.reversed())
        try fixture.directory.write("film.mov", reversed)
        #expect(try await !fixture.client.upload(file: file, to: "k", multipart: Self.skipping).wasSkipped)
        #expect(fixture.store.object("k")?.content.bytes == reversed)
    }

    @Test(arguments: [nil, S3Checksum.md5, .sha256])
    func `a file is sent again if the store has it in parts without a checksum of the whole object`(
        _ checksum: S3Checksum?
    ) async throws {
        let (fixture, file) = try Self.fixture { $0.checksum = checksum }
        for _ in 0..<2 {
            #expect(try await !fixture.client.upload(file: file, to: "k", multipart: Self.skipping).wasSkipped)
        }
        #expect(fixture.count(.complete) == 2)
    }

    // MARK: Failures

    @Test func `a part whose response is lost is listed and not sent again`() async throws {
        let (fixture, file) = try Self.fixture()
        fixture.store.fail(.storeThenDrop, on: .uploadPart, part: 2)
        Self.check(fixture, try await fixture.client.upload(file: file, to: "k"))
        #expect(fixture.count(.uploadPart) == 6)
        #expect(fixture.count(.listParts) == 1)
    }

    @Test func `a part with another MD5 is sent again once`() async throws {
        let (fixture, file) = try Self.fixture()
        fixture.store.fail(.wrongChecksum, on: .uploadPart, part: 2)
        let stored = try await fixture.client.upload(file: file, to: "k")
        #expect(fixture.store.object("k")?.content.bytes == Self.content)
        #expect(stored.etag.hasSuffix("-6\""))
        #expect(fixture.count(.uploadPart) == 7)
    }

    @Test func `a lost response to the completion is recovered by the ETag of the object`() async throws {
        let (fixture, file) = try Self.fixture()
        fixture.store.fail(.storeThenDrop, on: .complete)
        let stored = try await fixture.client.upload(file: file, to: "k")
        #expect(stored.wasFoundStored)
        Self.check(fixture, stored)
        #expect(fixture.count(.complete) == 1)
    }

    @Test(arguments: [500, 502, 504]) func `a completion that a gateway reports as failed is looked up`(_ status: Int)
        async throws
    {
        let (fixture, file) = try Self.fixture()
        fixture.store.fail(.xml(status: status, .cut), on: .complete)
        let stored = try await fixture.client.upload(file: file, to: "k")
        #expect(stored.wasFoundStored)
        Self.check(fixture, stored)
        #expect(fixture.count(.complete) == 1)
    }

    @Test(arguments: [OSSOperation.initiate, .complete])
    func `a request that a gateway did not pass on is repeated`(_ operation: OSSOperation) async throws {
        let (fixture, file) = try Self.fixture()
        fixture.store.fail(.html(status: 500), on: operation)
        Self.check(fixture, try await fixture.client.upload(file: file, to: "k"))
        #expect(fixture.count(operation) == 2)
    }

    @Test func `parts that do not match the checksum of the object are discarded`() async throws {
        let (fixture, file) = try Self.fixture()
        fixture.store.fail(.refused(status: 400, code: "BadDigest"), on: .complete, times: nil)
        let error = try await storeError { try await Self.recording(fixture).upload(file: file, to: "k") }
        #expect(error.code == .checksumMismatch && fixture.count(.complete) == 2)
        #expect(fixture.store.state.uploads.isEmpty)
        #expect(try fixture.directory.names(in: "records").allSatisfy { !$0.hasSuffix(".json") })
    }

    @Test func `a part that arrived damaged is sent again once`() async throws {
        let (fixture, file) = try Self.fixture()
        fixture.store.fail(.refused(status: 400, code: "BadDigest"), on: .uploadPart, part: 2)
        Self.check(fixture, try await fixture.client.upload(file: file, to: "k"))
        #expect(fixture.count(.uploadPart) == 7)
    }

    @Test func `a response with 200 and an error is a failure of the completion`() async throws {
        let (fixture, file) = try Self.fixture()
        fixture.store.fail(.refused(status: 200, code: "InternalError"), on: .complete)
        Self.check(fixture, try await fixture.client.upload(file: file, to: "k"))
        #expect(fixture.count(.complete) == 2)
        fixture.store.fail(.refused(status: 200, code: "InternalError"), on: .complete, times: nil)
        let error = try await storeError { try await fixture.client.upload(file: file, to: "other") }
        #expect(error.storeCode == "InternalError")
        #expect(error.status == 200)
        #expect(fixture.store.object("other") == nil)
    }

    // The second form is that of Ceph.
    @Test(arguments: ["NoSuchUpload", "NoSuchKey"])
    func `an upload that the store has lost is restarted once`(_ code: String) async throws {
        let (fixture, file) = try Self.fixture { $0.maximumConcurrentParts = 1 }
        fixture.store.fail(.refused(status: 404, code: code), on: .uploadPart, part: 3)
        let stored = try await fixture.client.upload(file: file, to: "k")
        #expect(fixture.store.object("k")?.content.bytes == Self.content)
        #expect(fixture.count(.initiate) == 2)
        #expect(stored.beginning == .fresh)
    }

    @Test(arguments: [OSSOperation.initiate, .complete])
    func `the page of a proxy is no result`(_ operation: OSSOperation) async throws {
        let (fixture, file) = try Self.fixture()
        fixture.store.fail(.html(status: 200), on: operation, times: nil)
        let error = try await storeError { try await fixture.client.upload(file: file, to: "k") }
        #expect(error.code == .unexpectedResponse)
        #expect(fixture.store.object("k") == nil)
    }

    @Test func `the condition of a write is checked at the completion`() async throws {
        let (fixture, file) = try Self.fixture()
        var options = S3ObjectOptions()
        options.condition = .isAbsent
        fixture.store.fail(.xml(status: 503, .cut), on: .complete)
        let stored = try await fixture.client.upload(file: file, to: "k", options: options)
        #expect(stored.wasFoundStored)
        #expect(fixture.store.state.log(.initiate).allSatisfy { $0.value(of: "If-None-Match") == nil })
        let other = try fixture.directory.write("other", Array(Self.content.reversed()))
        let error = try await storeError { try await fixture.client.upload(file: other, to: "k", options: options) }
        #expect(error.storeCode == "PreconditionFailed")
        #expect(fixture.store.object("k")?.content.bytes == Self.content)
    }
}
