import FoundationEssentials
import Glibc
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct `OSS multipart uploads` {
    @Test(arguments: [1, 5])
    func `all parts arrive once, within the concurrency limit`(_ atOnce: Int) async throws {
        let fixture = try OSSFixture { configuration, _ in configuration.maximumConcurrentParts = atOnce }
        let file = try fixture.file(1_000_001)
        let upload = fixture.client.startUpload(file: file.path, to: "film.mov")
        var seen: [ObjectProgress] = []
        for await progress in upload.progress { seen.append(progress) }
        let stored = try await upload.value
        #expect(stored.beginning == .fresh)
        #expect(stored.checksum == CRC(.ecma, of: file.bytes).value)
        let object = try #require(fixture.store.object("film.mov"))
        #expect(object.content.crc64 == stored.checksum)
        #expect(object.parts.count == 10)
        #expect(object.fields["content-type"] == "video/quicktime")
        #expect(fixture.store.state.counts.values.allSatisfy { $0.begun == 1 })
        #expect(fixture.store.state.peakInFlight <= atOnce)
        #expect(seen.last?.phase == .succeeded)
        #expect(seen.last?.acknowledged == 1_000_001)
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.acknowledged <= $1.acknowledged })
        #expect(seen.allSatisfy { $0.total == nil || $0.acknowledged <= 1_000_001 })
        #expect(fixture.records.isEmpty)
    }

    @Test func `small and empty files are sent in one request`() async throws {
        let fixture = try OSSFixture { configuration, _ in configuration.singleRequestLimit = .bytes(1_000) }
        let small = try fixture.file(1_000, "small")
        let stored = try await fixture.client.upload(file: small.path, to: "small")
        #expect(stored.beginning == .whole)
        let empty = try fixture.directory.write("empty", [])
        var never = OSSMultipartOptions()
        never.singleRequestLimit = .bytes(-5)
        try await fixture.client.upload(file: empty, to: "empty", multipart: never)
        #expect(fixture.store.object("empty")?.content.size == 0)
        #expect(fixture.store.state.log.allSatisfy { $0.operation == .putObject })
    }

    @Test func `temporary failures of parts are retried, and stored parts are not sent again`() async throws {
        let fixture = try OSSFixture()
        let file = try fixture.file(1_000_000)
        fixture.store.fail(.busy(), on: .uploadPart, part: 1)
        fixture.store.fail(.drop(afterBodyBytes: 50_000), on: .uploadPart, part: 2)
        fixture.store.fail(.storeThenDrop, on: .uploadPart, part: 3)
        fixture.store.fail(.storeThenDrop, on: .uploadPart, part: 4)
        fixture.store.fail(.html(status: 502), on: .uploadPart, part: 6)
        let stored = try await fixture.client.upload(file: file.path, to: "k")
        #expect(stored.checksum == CRC(.ecma, of: file.bytes).value)
        #expect(fixture.store.state.counts.values.allSatisfy { $0.resentAfterStored == 0 && $0.peakInFlight == 1 })
        #expect(fixture.store.object("k")?.timesStored == 1)
    }

    @Test func `a part with a checksum mismatch is sent once more and then fails`() async throws {
        let fixture = try OSSFixture()
        let file = try fixture.file(300_000)
        fixture.store.fail(.wrongChecksum, on: .uploadPart, part: 2)
        try await fixture.client.upload(file: file.path, to: "k")
        #expect(fixture.store.object("k")?.content.crc64 == CRC(.ecma, of: file.bytes).value)
        fixture.store.fail(.wrongChecksum, on: .uploadPart, part: 2, times: nil)
        let error = try await storeError { try await fixture.client.upload(file: file.path, to: "other") }
        #expect(error.code == .checksumMismatch)
        #expect(error.part == 2)
        #expect(fixture.store.object("other") == nil)
    }

    @Test func `an upload unknown to the store is restarted once`() async throws {
        let fixture = try OSSFixture { configuration, _ in configuration.maximumConcurrentParts = 1 }
        let file = try fixture.file(400_000)
        fixture.store.fail(.noSuchUpload, on: .uploadPart, part: 3)
        let stored = try await fixture.client.upload(file: file.path, to: "k")
        #expect(stored.checksum == CRC(.ecma, of: file.bytes).value)
        #expect(fixture.count(.initiate) == 2)
        fixture.store.fail(.noSuchUpload, on: .uploadPart, part: 3, times: nil)
        let error = try await storeError { try await fixture.client.upload(file: file.path, to: "other") }
        #expect(error.code == .uploadGone)
        #expect(error.message.contains("already restarted once"))
        #expect(fixture.count(.initiate) == 4)
    }

    @Test func `a Complete whose response is lost is found stored`() async throws {
        let fixture = try OSSFixture()
        let file = try fixture.file(300_000)
        fixture.store.fail(.storeThenDrop, on: .complete)
        let stored = try await fixture.client.upload(file: file.path, to: "k")
        #expect(stored.wasFoundStored)
        #expect(fixture.count(.complete) == 1)
        #expect(fixture.store.object("k")?.timesStored == 1)
        #expect(fixture.records.isEmpty)
    }

    @Test func `a Complete that is lost or busy is retried`() async throws {
        let fixture = try OSSFixture()
        let file = try fixture.file(300_000)
        fixture.store.fail(.drop(afterBodyBytes: 1 << 20), on: .complete)
        try await fixture.client.upload(file: file.path, to: "k")
        #expect(fixture.count(.complete) == 2)
        fixture.store.fail(.busy(), on: .complete)
        try await fixture.client.upload(file: file.path, to: "k2")
        #expect(fixture.count(.complete) == 4)
        #expect(fixture.store.state.counts.values.allSatisfy { $0.begun == 1 })
    }

    @Test func `an object with a checksum mismatch is restarted once`() async throws {
        let fixture = try OSSFixture()
        let file = try fixture.file(300_000)
        fixture.store.fail(.wrongChecksum, on: .complete)
        try await fixture.client.upload(file: file.path, to: "k")
        #expect(fixture.store.object("k")?.timesStored == 2)
        fixture.store.fail(.wrongChecksum, on: .complete, times: nil)
        let error = try await storeError { try await fixture.client.upload(file: file.path, to: "k2") }
        #expect(error.code == .checksumMismatch)
        #expect(fixture.store.object("k2")?.timesStored == 2)
    }

    @Test func `an object stored despite a failed callback keeps no record`() async throws {
        let fixture = try OSSFixture()
        let file = try fixture.file(300_000)
        fixture.store.fail(.callbackFailed, on: .complete)
        var options = OSSObjectOptions()
        options.callback = OSSCallback(["http://app.example"], body: "${object}")
        let error = try await storeError { try await fixture.client.upload(file: file.path, to: "k", options: options) }
        #expect(error.code == .storedButCallbackFailed)
        #expect(error.isStored)
        #expect(fixture.store.object("k")?.timesStored == 1)
        #expect(fixture.records.isEmpty)
        #expect(fixture.count(.abort) == 0)
    }

    @Test func `clock and credentials are corrected for all parts`() async throws {
        let fixture = try OSSFixture()
        fixture.store.skew(OSSSkew(seconds: -1_200, report: .serverTime))
        fixture.store.fail(.tokenExpired, on: .uploadPart, part: 2)
        let file = try fixture.file(500_000)
        try await fixture.client.upload(file: file.path, to: "k")
        #expect(fixture.store.object("k")?.content.crc64 == CRC(.ecma, of: file.bytes).value)
        #expect(fixture.store.state.log(.initiate).count == 2)
    }

    @Test func `hostile XML fails the initiate request`() async throws {
        let fixture = try OSSFixture()
        let file = try fixture.file(300_000)
        for xml in OSSFault.HostileXML.allCases {
            fixture.store.fail(.xml(status: 200, xml), on: .initiate)
            let error = try await storeError { try await fixture.client.upload(file: file.path, to: "k") }
            #expect(error.code == .unexpectedResponse, "\(xml)")
        }
        #expect(fixture.count(.uploadPart) == 0)
    }

    @Test func `without a record, a failed upload is aborted`() async throws {
        let fixture = try OSSFixture { configuration, _ in configuration.records = nil }
        let file = try fixture.file(300_000)
        fixture.store.fail(.html(status: 403), on: .uploadPart, part: 2)
        let error = try await storeError { try await fixture.client.upload(file: file.path, to: "k") }
        #expect(error.status == 403)
        #expect(error.part == 2)
        #expect(fixture.store.state.aborted.count == 1)
        #expect(fixture.store.state.uploads.isEmpty)
    }

    @Test func `a file that changes between parts never becomes an object`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("film", [UInt8](repeating: 7, count: 400_000))
        // Calls: initiate, first part, second part. Before the second part is read, the file grows.
        let credentials = CountedCredentials(count: Watched(0)) { number in
            guard number == 3 else { return }
            let file = unsafe open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
            unsafe _ = write(file, "x", 1)
            close(file)
        }
        let fixture = try OSSFixture(credentials: credentials.provider) { configuration, _ in
            configuration.maximumConcurrentParts = 1
        }
        let error = try await storeError { try await fixture.client.upload(file: path, to: "k") }
        #expect(error.code == .sourceChanged)
        #expect(fixture.store.object("k") == nil)
        #expect(fixture.store.state.uploads.values.map(\.parts.count) == [1])
        // The record belongs to the previous file: it is dropped, and the upload in the store is aborted.
        let stored = try await fixture.client.upload(file: path, to: "k")
        #expect(stored.beginning == .afterDiscarding("the size of the file changed from 400000 to 400001 bytes"))
        #expect(fixture.store.state.aborted.count == 1)
        #expect(fixture.store.state.uploads.isEmpty)
        #expect(fixture.store.object("k")?.content.size == 400_001)
    }

    @Test func `a second upload with the same record fails or waits`() async throws {
        let mayContinue = Watched(false)
        let credentials = CountedCredentials(count: Watched(0)) { number in
            if number == 1 { _ = try? await mayContinue.waitUntil { $0 } }
        }
        let fixture = try OSSFixture(credentials: credentials.provider)
        let file = try fixture.file(300_000)
        let first = fixture.client.startUpload(file: file.path, to: "k")
        try await credentials.count.waitUntil { $0 == 1 }
        let error = try await storeError { try await fixture.client.upload(file: file.path, to: "k") }
        #expect(error.code == .recordInUse)
        var configuration = fixture.client.configuration
        configuration.records?.conflictPolicy = .wait
        let patient = try AliyunOSSClient(configuration: configuration, credentials: credentials.provider)
        let second = patient.startUpload(file: file.path, to: "k")
        mayContinue.update { $0 = true }
        _ = try await first.value
        _ = try await second.value
        #expect(fixture.store.object("k")?.timesStored == 2)
        #expect(fixture.store.state.counts.values.allSatisfy { $0.begun == 1 })
    }

    @Test func `a paused upload starts no new part until it is resumed`() async throws {
        let mayContinue = Watched(false)
        let credentials = CountedCredentials(count: Watched(0)) { number in
            if number == 2 { _ = try? await mayContinue.waitUntil { $0 } }
        }
        let fixture = try OSSFixture(credentials: credentials.provider) { configuration, _ in
            configuration.maximumConcurrentParts = 1
        }
        let file = try fixture.file(400_000)
        let upload = fixture.client.startUpload(file: file.path, to: "k")
        try await credentials.count.waitUntil { $0 == 2 }
        upload.pause()
        #expect(upload.isPaused)
        mayContinue.update { $0 = true }
        // The part in flight keeps its bytes; its progress is reported as paused.
        var paused: ObjectProgress?
        for await progress in upload.progress where progress.isPaused {
            paused = progress
            break
        }
        #expect(paused?.phase == .sending)
        #expect(fixture.store.object("k") == nil)
        upload.resume()
        _ = try await upload.value
        #expect(fixture.store.object("k")?.content.crc64 == CRC(.ecma, of: file.bytes).value)
    }

    @Test func `abandonUpload removes the record and the upload in the store`() async throws {
        let fixture = try OSSFixture()
        let file = try fixture.file(300_000)
        try await fixture.client.abandonUpload(file: file.path, to: "k")
        fixture.store.fail(.html(status: 403), on: .uploadPart, part: 2)
        _ = try await storeError { try await fixture.client.upload(file: file.path, to: "k") }
        #expect(fixture.records.count == 1)
        #expect(fixture.store.state.uploads.count == 1)
        try await fixture.client.abandonUpload(file: file.path, to: "k")
        #expect(fixture.records.isEmpty)
        #expect(fixture.store.state.uploads.isEmpty)
    }
}
