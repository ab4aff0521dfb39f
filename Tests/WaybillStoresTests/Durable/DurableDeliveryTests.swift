import Foundation
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox
@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct `Durable store uploads, delivered` {
    @Test(arguments: [0, 1, 150_000, 150_001, 500_000])
    func `a file of any size becomes one OSS object, in one request or in parts`(_ size: Int) async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(size)
        let outbox = try await fixture.open()
        try await outbox.enqueue(try await fixture.toOSS(file.path) { $0.metadata = ["author": "alice"] })
        try await fixture.deliver(outbox)
        let result = try #require(try await outbox.results().first)
        #expect(result.isDelivered && result.status == 200, "\(result.message ?? "")")
        #expect(result.headers.contains { $0.name.lowercased() == "x-oss-request-id" })
        let object = try #require(fixture.oss.object("k"))
        #expect(object.content.size == size && object.timesStored == 1)
        #expect(object.content.crc64 == CRC(.ecma, of: file.bytes).value)
        #expect(object.fields["x-oss-meta-author"] == "alice")
        #expect(object.fields["content-type"] == "application/octet-stream")
        #expect(fixture.oss.state.log(.uploadPart).count == (size > 150_000 ? (size + 102_399) / 102_400 : 0))
        await outbox.close()
    }

    @Test(arguments: [0, 1, 256 << 10, (256 << 10) + 1, (3 << 20) + 7])
    func `a file of any size becomes one Qiniu object, as a form or in parts`(_ size: Int) async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(size)
        let outbox = try await fixture.open()
        try await outbox.enqueue(try await fixture.toQiniu(file.path))
        try await fixture.deliver(outbox)
        let result = try #require(try await outbox.results().first)
        #expect(result.isDelivered && result.status == 200, "\(result.message ?? "")")
        #expect(result.text.contains("\"hash\"") && result.headers.contains { $0.name == "X-Reqid" })
        let object = try #require(fixture.qiniu.object("k"))
        #expect(object.content.size == size && object.timesStored == 1 && object.fileName == "film.mov")
        #expect(object.content.crc32 == QiniuBytes(of: file.bytes).crc32 || object.content.bytes == nil)
        #expect(fixture.qiniu.state.log(.part).count == (size > 256 << 10 ? (size + (1 << 20) - 1) >> 20 : 0))
        await outbox.close()
    }

    @Test func `bytes and snapshots are stored in the outbox until they are delivered`() async throws {
        let fixture = try DurableFixture()
        let outbox = try await fixture.open()
        let bytes = QiniuFixture.bytes(300_000)
        try await outbox.enqueue(
            try DurableOSSUpload(bytes, to: "of-bytes", configuration: fixture.ossConfiguration, credential: "test"))
        try await outbox.enqueue(
            try DurableQiniuUpload(
                bytes, fileName: "a.bin", to: "of-bytes", in: "photos", credential: "test",
                configuration: fixture.qiniuConfiguration))
        let file = try fixture.file(200_000)
        var options = EnqueueOptions()
        options.fileStorage = .snapshot
        try await outbox.enqueue(try await fixture.toOSS(file.path, "copy"), options: options)
        try fixture.folder.overwrite("film.mov", at: 0, [9, 9, 9])
        #expect(Spool(directory: outbox.path + "/spool").fileNames().count == 3)
        try await fixture.deliver(outbox)
        #expect(try await outbox.tally()[.done] == 3)
        #expect(fixture.oss.object("of-bytes")?.content.crc64 == CRC(.ecma, of: bytes).value)
        #expect(fixture.oss.object("copy")?.content.crc64 == CRC(.ecma, of: file.bytes).value)
        #expect(fixture.qiniu.object("of-bytes")?.fileName == "a.bin")
        #expect(Spool(directory: outbox.path + "/spool").fileNames().isEmpty)
        await outbox.close()
    }

    @Test(arguments: [true, false]) func `progress covers the whole object and ends before the delivery`(
        _ isOSS: Bool
    ) async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(isOSS ? 500_000 : 3 << 20)
        let seen = Watched<[UploadProgress]>([])
        let isOver = Watched(false)
        var delivery = fixture.delivery()
        delivery.attempt = 3
        delivery.onProgress = { progress in
            #expect(!isOver.value)
            seen.update { $0.append(progress) }
        }
        if isOSS {
            _ = try await fixture.toOSS(file.path).deliver(delivery)
        } else {
            _ = try await fixture.toQiniu(file.path).deliver(delivery)
        }
        isOver.update { $0 = true }
        let counts = seen.value.map(\.acknowledged)
        #expect(counts == counts.sorted())
        let last = try #require(seen.value.last)
        #expect(last.phase == .succeeded && last.attempt == 3)
        #expect(last.acknowledged == Int64(file.bytes.count) && last.total == last.acknowledged)
    }

    @Test func `an object that is stored although its callback failed is delivered once`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        let outbox = try await fixture.open()
        fixture.oss.fail(.callbackFailed, on: .putObject)
        fixture.qiniu.fail(.callbackFailed, on: .form)
        try await outbox.enqueue(
            try await fixture.toOSS(file.path) { $0.callback = OSSCallback(["https://app.example/"], body: "k") })
        var policy = QiniuPutPolicy(scope: .key("k", bucket: "photos"), deadline: .now)
        policy.callbackURLs = ["https://app.example/"]
        policy.callbackBody = "k"
        try await outbox.enqueue(try await fixture.toQiniu(file.path, policy: policy))
        try await fixture.deliver(outbox)
        let results = try await outbox.results()
        #expect(results.allSatisfy(\.isDelivered) && Set(results.map(\.status)) == [203, 579])
        #expect(fixture.oss.object("k")?.timesStored == 1 && fixture.qiniu.object("k")?.timesStored == 1)
        await outbox.close()
    }

    @Test(arguments: [SourceChangePolicy.fail, .restart, .skip], [true, false])
    func `the change policy decides about a modified file`(
        _ policy: SourceChangePolicy, _ isOSS: Bool
    ) async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(200_000)
        let outbox = try await fixture.open()
        var options = EnqueueOptions()
        options.onChange = policy
        if isOSS {
            try await outbox.enqueue(try await fixture.toOSS(file.path), options: options)
        } else {
            try await outbox.enqueue(try await fixture.toQiniu(file.path), options: options)
        }
        let later = try fixture.file(190_000, seed: 8)
        try await fixture.deliver(outbox)
        let result = try #require(try await outbox.results().first)
        switch policy {
        case .fail: #expect(result.item.state == .failed && result.item.reason == "sourceChanged")
        case .skip: #expect(result.item.state == .cancelled)
        case .restart:
            #expect(result.isDelivered)
            #expect(isOSS ? fixture.oss.object("k")?.content.crc64 == CRC(.ecma, of: later.bytes).value : true)
            #expect(isOSS || fixture.qiniu.object("k")?.hash == QiniuBytes(of: later.bytes).etag)
        }
        if policy != .restart { #expect(fixture.oss.state.log.isEmpty && fixture.qiniu.state.log.isEmpty) }
        await outbox.close()
    }

    @Test func `a file that changes between its parts creates no object`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(500_000)
        let outbox = try await fixture.open()
        try await outbox.enqueue(try await fixture.toOSS(file.path))
        let (path, folder) = (file.path, fixture.folder)
        fixture.oss.onBytesReceived(bytes: 250_000) { try? folder.overwrite("film.mov", at: 499_999, [1]) }
        try await fixture.deliver(outbox)
        #expect(try await outbox.results().first?.item.reason == "sourceChanged", "\(path)")
        #expect(fixture.oss.object("k") == nil && fixture.oss.state.log(.complete).isEmpty)
        await outbox.close()
    }

    @Test func `fifty objects for both stores are delivered once each`() async throws {
        let fixture = try DurableFixture()
        let outbox = try await fixture.open()
        var options = EnqueueOptions()
        options.batch = "photos"
        for number in 0..<25 {
            let file = try fixture.file(
                number % 5 == 0 ? 220_000 : 3_000 + number, "\(number).bin", seed: UInt64(number))
            try await outbox.enqueue(try await fixture.toOSS(file.path, "batch/\(number)"), options: options)
            try await outbox.enqueue(try await fixture.toQiniu(file.path, "batch/\(number)"), options: options)
        }
        // The first three requests to each store are rejected as busy.
        fixture.oss.fail(.busy(), on: .putObject, times: 3)
        fixture.qiniu.fail(.refuse(573, "too many requests"), on: .form, times: 3)
        try await fixture.deliver(outbox)
        #expect(try await outbox.tally(batch: "photos")[.done] == 50)
        for number in 0..<25 {
            let wanted = try fixture.folder.read("\(number).bin")
            #expect(fixture.oss.object("batch/\(number)")?.content.crc64 == CRC(.ecma, of: wanted).value)
            #expect(fixture.oss.object("batch/\(number)")?.timesStored == 1)
            #expect(fixture.qiniu.object("batch/\(number)")?.hash == QiniuBytes(of: wanted).etag)
            #expect(fixture.qiniu.object("batch/\(number)")?.timesStored == 1)
        }
        #expect(fixture.oss.complaints.isEmpty && fixture.qiniu.complaints.isEmpty)
        await outbox.close()
    }
}
