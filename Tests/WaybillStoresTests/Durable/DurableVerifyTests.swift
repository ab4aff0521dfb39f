import Foundation
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox
@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct `Durable store uploads, verified` {
    private func ask(
        _ fixture: DurableFixture, _ upload: some DurableUpload, _ resume: [UInt8]? = nil
    ) async throws -> String {
        try await upload.verify(fixture.delivery(resume: resume)).name
    }

    /// An upload with some stored parts, and the resume state kept by its queue.
    private func begun(_ fixture: DurableFixture, _ upload: some DurableUpload) async throws -> [UInt8] {
        let kept = Watched<[[UInt8]]>([])
        _ = try await uploadError { try await upload.deliver(fixture.delivery(kept: kept)) }
        return try #require(kept.value.last)
    }

    @Test func `OSS is verified by size and checksum`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        let upload = try await fixture.toOSS(file.path)
        #expect(try await ask(fixture, upload) == "absent")
        fixture.oss.put("k", QiniuFixture.bytes(999))
        #expect(try await ask(fixture, upload) == "absent")
        fixture.oss.put("k", QiniuFixture.bytes(1_000, seed: 99))
        #expect(try await ask(fixture, upload) == "absent")
        fixture.oss.put("k", file.bytes)
        guard case .delivered(let response?) = try await upload.verify(fixture.delivery()) else {
            Issue.record("it is there")
            return
        }
        #expect(response.headers[.ossChecksum] == String(CRC(.ecma, of: file.bytes).value))
        // The same size, and no file left to compare it with.
        try fixture.folder.overwrite("film.mov", at: 5, [0, 1])
        #expect(try await ask(fixture, upload) == "undetermined")
        fixture.oss.put("k", QiniuFixture.bytes(7))
        #expect(try await ask(fixture, upload) == "absent")
        #expect(fixture.oss.state.log(.putObject).isEmpty)
    }

    @Test func `verification of OSS parts resumes them or finds the completed object`()
        async throws
    {
        let fixture = try DurableFixture()
        let file = try fixture.file(500_000)
        let upload = try await fixture.toOSS(file.path)
        fixture.oss.fail(.denied, on: .uploadPart, part: 4)
        let resume = try await begun(fixture, upload)
        guard case .resume(let state) = try await upload.verify(fixture.delivery(resume: resume)) else {
            Issue.record("the parts are there")
            return
        }
        #expect(state == resume)
        let kept = Watched<[[UInt8]]>([])
        _ = try await upload.deliver(fixture.delivery(resume: state, kept: kept))
        #expect(fixture.oss.state.log(.initiate).count == 1)
        #expect(fixture.oss.state.counts.values.allSatisfy { $0.resentAfterStored == 0 })
        #expect(fixture.oss.object("k")?.content.crc64 == CRC(.ecma, of: file.bytes).value)
        // Killed before the end was recorded: the record has all parts, so the file need not be read.
        try fixture.folder.overwrite("film.mov", at: 5, [0, 1])
        #expect(try await ask(fixture, upload, kept.value.last) == "delivered")
        #expect(try await ask(fixture, upload) == "undetermined")
    }

    @Test func `an upload unknown to OSS without an object is sent again`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(500_000)
        let upload = try await fixture.toOSS(file.path)
        fixture.oss.fail(.denied, on: .uploadPart, part: 4)
        let resume = try await begun(fixture, upload)
        fixture.oss.abort(try #require(fixture.oss.state.uploads.keys.first))
        #expect(try await ask(fixture, upload, resume) == "absent")
        _ = try await upload.deliver(fixture.delivery(resume: resume))
        #expect(fixture.oss.object("k")?.timesStored == 1 && fixture.oss.state.log(.initiate).count == 2)
    }

    @Test(arguments: [true, false]) func `without permission to verify, only harmless OSS uploads are repeatable`(
        _ isHarmless: Bool
    ) async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        fixture.oss.fail(.denied, on: .headObject, times: nil)
        let upload = try await fixture.toOSS(file.path) { $0.forbidsOverwrite = !isHarmless }
        #expect(try await ask(fixture, upload) == (isHarmless ? "repeatable" : "undetermined"))
        let withCallback = try await fixture.toOSS(file.path) {
            $0.callback = OSSCallback(["https://app.example/"], body: "k")
        }
        #expect(try await ask(fixture, withCallback) == "undetermined")
    }

    @Test func `verification of an unreachable store fails and can be retried`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        let upload = try await fixture.toOSS(file.path)
        fixture.oss.fail(.html(status: 503), on: .headObject, times: nil)
        let error = try await uploadError { try await upload.verify(fixture.delivery()) }
        #expect(error.outcome == .rejected && error.response?.status.code == 503)
    }

    @Test func `Qiniu lists parts of an open upload, and is repeatable afterwards`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(3 << 20)
        let upload = try await fixture.toQiniu(file.path)
        #expect(try await ask(fixture, upload) == "repeatable")
        fixture.qiniu.fail(.refuse(403, "forbidden"), on: .part, part: 3)
        let resume = try await begun(fixture, upload)
        #expect(try await ask(fixture, upload, resume) == "resume")
        _ = try await upload.deliver(fixture.delivery(resume: resume))
        #expect(fixture.qiniu.state.log(.begin).count == 1)
        #expect(fixture.qiniu.state.counts.values.allSatisfy { $0.resentAfterStored == 0 })
        #expect(fixture.qiniu.object("k")?.timesStored == 1)
        // The object was made of the parts, which are gone: sending the same bytes under the same key makes the same
        // object.
        #expect(try await ask(fixture, upload, resume) == "repeatable")
    }

    @Test func `Qiniu uploads with side effects are not repeatable`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        let key = QiniuScope.key("k", bucket: "photos")
        var withCallback = QiniuPutPolicy(scope: key, deadline: .now)
        withCallback.callbackURLs = ["https://app.example/"]
        withCallback.callbackBody = "k"
        var withProcessing = QiniuPutPolicy(scope: key, deadline: .now)
        withProcessing.persistentOps = "avthumb/mp4"
        var forced = QiniuPutPolicy(scope: key, deadline: .now)
        forced.saveKey = "$(uuid)"
        forced.forcesSaveKey = true
        let first = QiniuPutPolicy(scope: .newKey("k", bucket: "photos"), deadline: .now)
        for policy in [withCallback, withProcessing, forced, first] {
            #expect(try await ask(fixture, try await fixture.toQiniu(file.path, policy: policy)) == "undetermined")
        }
        #expect(try await ask(fixture, try await fixture.toQiniu(file.path, nil)) == "undetermined")
        let harmless = QiniuPutPolicy(scope: .bucket("photos"), deadline: .now)
        #expect(try await ask(fixture, try await fixture.toQiniu(file.path, policy: harmless)) == "repeatable")
        #expect(fixture.qiniu.state.log.isEmpty)
    }

    @Test func `a lost response is verified, and the object is not sent again`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(500_000)
        let outbox = try await fixture.open()
        try await outbox.enqueue(try await fixture.toOSS(file.path))
        // Neither the completion nor the verification after it is answered.
        fixture.oss.fail(.storeThenDrop, on: .complete)
        fixture.oss.fail(.html(status: 503), on: .headObject, times: 4)
        try await fixture.deliver(outbox)
        #expect(try await outbox.results().first?.isDelivered == true)
        #expect(fixture.oss.object("k")?.timesStored == 1)
        #expect(fixture.oss.state.counts.values.allSatisfy { $0.begun == 1 })
        await outbox.close()
    }
}
