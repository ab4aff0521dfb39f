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
        let world = try OSSWorld { configuration, _ in configuration.partsAtOnce = atOnce }
        let file = try world.file(1_000_001)
        let upload = world.client.startUpload(file: file.path, to: "film.mov")
        var seen: [ObjectProgress] = []
        for await progress in upload.progress { seen.append(progress) }
        let stored = try await upload.value
        #expect(stored.beginning == .fresh)
        #expect(stored.checksum == CRC64(of: file.bytes).value)
        let object = try #require(world.store.object("film.mov"))
        #expect(object.content.crc64 == stored.checksum)
        #expect(object.parts.count == 10)
        #expect(object.fields["content-type"] == "video/quicktime")
        #expect(world.store.state.counts.values.allSatisfy { $0.begun == 1 })
        #expect(world.store.state.peakInFlight <= atOnce)
        #expect(seen.last?.phase == .succeeded)
        #expect(seen.last?.acknowledged == 1_000_001)
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.acknowledged <= $1.acknowledged })
        #expect(seen.allSatisfy { $0.total == nil || $0.acknowledged <= 1_000_001 })
        #expect(world.records.isEmpty)
    }

    @Test func `small and empty files are sent in one request`() async throws {
        let world = try OSSWorld { configuration, _ in configuration.wholeUpTo = .bytes(1_000) }
        let small = try world.file(1_000, "small")
        let stored = try await world.client.upload(file: small.path, to: "small")
        #expect(stored.beginning == .whole)
        let empty = try world.directory.write("empty", [])
        var never = OSSMultipartOptions()
        never.wholeUpTo = .bytes(-5)
        try await world.client.upload(file: empty, to: "empty", multipart: never)
        #expect(world.store.object("empty")?.content.size == 0)
        #expect(world.store.state.log.allSatisfy { $0.operation == .putObject })
    }

    @Test func `temporary failures of parts are retried, and stored parts are not sent again`() async throws {
        let world = try OSSWorld()
        let file = try world.file(1_000_000)
        world.store.fail(.busy(), on: .uploadPart, part: 1)
        world.store.fail(.drop(afterBodyBytes: 50_000), on: .uploadPart, part: 2)
        world.store.fail(.storeThenDrop, on: .uploadPart, part: 3)
        world.store.fail(.storeThenDrop, on: .uploadPart, part: 4)
        world.store.fail(.html(status: 502), on: .uploadPart, part: 6)
        let stored = try await world.client.upload(file: file.path, to: "k")
        #expect(stored.checksum == CRC64(of: file.bytes).value)
        #expect(world.store.state.counts.values.allSatisfy { $0.resentAfterStored == 0 && $0.peakInFlight == 1 })
        #expect(world.store.object("k")?.timesStored == 1)
    }

    @Test func `a part with a checksum mismatch is sent once more and then fails`() async throws {
        let world = try OSSWorld()
        let file = try world.file(300_000)
        world.store.fail(.wrongChecksum, on: .uploadPart, part: 2)
        try await world.client.upload(file: file.path, to: "k")
        #expect(world.store.object("k")?.content.crc64 == CRC64(of: file.bytes).value)
        world.store.fail(.wrongChecksum, on: .uploadPart, part: 2, times: nil)
        let error = try await storeError { try await world.client.upload(file: file.path, to: "other") }
        #expect(error.code == .checksumMismatch)
        #expect(error.part == 2)
        #expect(world.store.object("other") == nil)
    }

    @Test func `an upload unknown to the store is restarted once`() async throws {
        let world = try OSSWorld { configuration, _ in configuration.partsAtOnce = 1 }
        let file = try world.file(400_000)
        world.store.fail(.noSuchUpload, on: .uploadPart, part: 3)
        let stored = try await world.client.upload(file: file.path, to: "k")
        #expect(stored.checksum == CRC64(of: file.bytes).value)
        #expect(world.count(.initiate) == 2)
        world.store.fail(.noSuchUpload, on: .uploadPart, part: 3, times: nil)
        let error = try await storeError { try await world.client.upload(file: file.path, to: "other") }
        #expect(error.code == .uploadGone)
        #expect(error.message.contains("already restarted once"))
        #expect(world.count(.initiate) == 4)
    }

    @Test func `a Complete whose response is lost is found stored`() async throws {
        let world = try OSSWorld()
        let file = try world.file(300_000)
        world.store.fail(.storeThenDrop, on: .complete)
        let stored = try await world.client.upload(file: file.path, to: "k")
        #expect(stored.wasFoundStored)
        #expect(world.count(.complete) == 1)
        #expect(world.store.object("k")?.timesStored == 1)
        #expect(world.records.isEmpty)
    }

    @Test func `a Complete that is lost or busy is retried`() async throws {
        let world = try OSSWorld()
        let file = try world.file(300_000)
        world.store.fail(.drop(afterBodyBytes: 1 << 20), on: .complete)
        try await world.client.upload(file: file.path, to: "k")
        #expect(world.count(.complete) == 2)
        world.store.fail(.busy(), on: .complete)
        try await world.client.upload(file: file.path, to: "k2")
        #expect(world.count(.complete) == 4)
        #expect(world.store.state.counts.values.allSatisfy { $0.begun == 1 })
    }

    @Test func `an object with a checksum mismatch is restarted once`() async throws {
        let world = try OSSWorld()
        let file = try world.file(300_000)
        world.store.fail(.wrongChecksum, on: .complete)
        try await world.client.upload(file: file.path, to: "k")
        #expect(world.store.object("k")?.timesStored == 2)
        world.store.fail(.wrongChecksum, on: .complete, times: nil)
        let error = try await storeError { try await world.client.upload(file: file.path, to: "k2") }
        #expect(error.code == .checksumMismatch)
        #expect(world.store.object("k2")?.timesStored == 2)
    }

    @Test func `an object stored despite a failed callback keeps no record`() async throws {
        let world = try OSSWorld()
        let file = try world.file(300_000)
        world.store.fail(.callbackFailed, on: .complete)
        var options = OSSObjectOptions()
        options.callback = OSSCallback(["http://app.example"], body: "${object}")
        let error = try await storeError { try await world.client.upload(file: file.path, to: "k", options: options) }
        #expect(error.code == .storedButCallbackFailed)
        #expect(error.isStored)
        #expect(world.store.object("k")?.timesStored == 1)
        #expect(world.records.isEmpty)
        #expect(world.count(.abort) == 0)
    }

    @Test func `clock and credentials are corrected for all parts`() async throws {
        let world = try OSSWorld()
        world.store.skew(OSSSkew(seconds: -1_200, telling: .serverTime))
        world.store.fail(.tokenExpired, on: .uploadPart, part: 2)
        let file = try world.file(500_000)
        try await world.client.upload(file: file.path, to: "k")
        #expect(world.store.object("k")?.content.crc64 == CRC64(of: file.bytes).value)
        #expect(world.store.state.log(.initiate).count == 2)
    }

    @Test func `hostile XML fails the initiate request`() async throws {
        let world = try OSSWorld()
        let file = try world.file(300_000)
        for xml in OSSFault.HostileXML.allCases {
            world.store.fail(.xml(status: 200, xml), on: .initiate)
            let error = try await storeError { try await world.client.upload(file: file.path, to: "k") }
            #expect(error.code == .unexpectedResponse, "\(xml)")
        }
        #expect(world.count(.uploadPart) == 0)
    }

    @Test func `without a record, a failed upload is aborted`() async throws {
        let world = try OSSWorld { configuration, _ in configuration.records = nil }
        let file = try world.file(300_000)
        world.store.fail(.html(status: 403), on: .uploadPart, part: 2)
        let error = try await storeError { try await world.client.upload(file: file.path, to: "k") }
        #expect(error.status == 403)
        #expect(error.part == 2)
        #expect(world.store.state.aborted.count == 1)
        #expect(world.store.state.uploads.isEmpty)
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
        let world = try OSSWorld(credentials: credentials.provider) { configuration, _ in configuration.partsAtOnce = 1
        }
        let error = try await storeError { try await world.client.upload(file: path, to: "k") }
        #expect(error.code == .sourceChanged)
        #expect(world.store.object("k") == nil)
        #expect(world.store.state.uploads.values.map(\.parts.count) == [1])
        // The record belongs to the previous file: it is dropped, and the upload in the store is aborted.
        let stored = try await world.client.upload(file: path, to: "k")
        #expect(stored.beginning == .afterDiscarding("the size of the file changed from 400000 to 400001 bytes"))
        #expect(world.store.state.aborted.count == 1)
        #expect(world.store.state.uploads.isEmpty)
        #expect(world.store.object("k")?.content.size == 400_001)
    }

    @Test func `a second upload with the same record fails or waits`() async throws {
        let gate = Watched(false)
        let credentials = CountedCredentials(count: Watched(0)) { number in
            if number == 1 { _ = try? await gate.waitUntil { $0 } }
        }
        let world = try OSSWorld(credentials: credentials.provider)
        let file = try world.file(300_000)
        let first = world.client.startUpload(file: file.path, to: "k")
        try await credentials.count.waitUntil { $0 == 1 }
        let error = try await storeError { try await world.client.upload(file: file.path, to: "k") }
        #expect(error.code == .recordInUse)
        var configuration = world.client.configuration
        configuration.records?.conflictPolicy = .wait
        let patient = try AliyunOSSClient(configuration: configuration, credentials: credentials.provider)
        let second = patient.startUpload(file: file.path, to: "k")
        gate.update { $0 = true }
        _ = try await first.value
        _ = try await second.value
        #expect(world.store.object("k")?.timesStored == 2)
        #expect(world.store.state.counts.values.allSatisfy { $0.begun == 1 })
    }

    @Test func `a paused upload starts no new part until it is resumed`() async throws {
        let gate = Watched(false)
        let credentials = CountedCredentials(count: Watched(0)) { number in
            if number == 2 { _ = try? await gate.waitUntil { $0 } }
        }
        let world = try OSSWorld(credentials: credentials.provider) { configuration, _ in configuration.partsAtOnce = 1
        }
        let file = try world.file(400_000)
        let upload = world.client.startUpload(file: file.path, to: "k")
        try await credentials.count.waitUntil { $0 == 2 }
        upload.pause()
        #expect(upload.isPaused)
        gate.update { $0 = true }
        // The part in flight keeps its bytes; its progress is reported as paused.
        var paused: ObjectProgress?
        for await progress in upload.progress where progress.isPaused {
            paused = progress
            break
        }
        #expect(paused?.phase == .sending)
        #expect(world.store.object("k") == nil)
        upload.resume()
        _ = try await upload.value
        #expect(world.store.object("k")?.content.crc64 == CRC64(of: file.bytes).value)
    }

    @Test func `abandonUpload removes the record and the upload in the store`() async throws {
        let world = try OSSWorld()
        let file = try world.file(300_000)
        try await world.client.abandonUpload(file: file.path, to: "k")
        world.store.fail(.html(status: 403), on: .uploadPart, part: 2)
        _ = try await storeError { try await world.client.upload(file: file.path, to: "k") }
        #expect(world.records.count == 1)
        #expect(world.store.state.uploads.count == 1)
        try await world.client.abandonUpload(file: file.path, to: "k")
        #expect(world.records.isEmpty)
        #expect(world.store.state.uploads.isEmpty)
    }
}
