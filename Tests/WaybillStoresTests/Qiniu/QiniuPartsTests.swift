import FoundationEssentials
import Glibc
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct QiniuPartsTests {
    private static let size = 3 * 1_048_576 + 500_000

    @Test func `a file is sent in parts with its metadata and variables`() async throws {
        let fixture = try QiniuFixture()
        let (path, bytes) = try fixture.file(Self.size, "film.mp4")
        var options = QiniuPutOptions()
        options.metadata = ["a": "空\"\n"]
        options.variables = ["v": "1"]
        let object = try await fixture.client().upload(.file(path: path), to: "films/7.mp4", options: options)
        let stored = try #require(fixture.store.object("films/7.mp4"))
        #expect(stored.content.size == bytes.count && stored.timesStored == 1)
        #expect(stored.content.blocks.count == 4 && object.key == "films/7.mp4")
        #expect(stored.type == "video/mp4" && stored.fileName == "film.mp4")
        #expect(stored.metadata == ["x-qn-meta-a": "空\"\n"] && stored.variables == ["x:v": "1"])
        // Parts of 1 MiB are not whole blocks: the hash can't be derived from the bytes.
        #expect(!object.isHashChecked && object.hash == stored.hash && object.resumedBytes == 0)
        let state = fixture.store.state
        #expect(state.log(.begin).count == 1 && state.log(.part).count == 4 && state.log(.complete).count == 1)
        #expect(state.uploads.isEmpty && fixture.store.complaints.isEmpty)
        #expect(state.counts.values.allSatisfy { $0.peakInFlight == 1 && $0.begun == 1 })
    }

    @Test func `with parts of whole blocks the hash of the object is verified`() async throws {
        let fixture = try QiniuFixture()
        let (path, bytes) = try fixture.file(9 * 1_048_576)
        let client = fixture.client { $0.partSize = .mebibytes(4) }
        let object = try await client.upload(.file(path: path), to: "k")
        #expect(object.hash == QiniuEtag(of: bytes).value && object.isHashChecked)
        #expect(fixture.store.object("k")?.content.etag == object.hash)
    }

    @Test(arguments: [nil, "", "a/空 +%?#/..//b"] as [String?]) func `keys of part uploads match those of forms`(
        key: String?
    ) async throws {
        let fixture = try QiniuFixture()
        let client = fixture.client(
            tokens: .keys(QiniuFixture.keys) { _, now in
                QiniuPutPolicy(scope: .bucket("photos"), deadline: now.addingTimeInterval(60))
            })
        let object = try await client.upload(.data(QiniuFixture.bytes(1_500_000)), to: key)
        #expect(object.key == key ?? object.hash)
        #expect(fixture.store.object(object.key ?? "?")?.content.size == 1_500_000)
    }

    @Test func `the token provider is called again before completion`() async throws {
        let fixture = try QiniuFixture()
        let reasons = Locked<[QiniuTokens.Reason]>([])
        let tokens = QiniuTokens.provider { request in
            reasons.withLock { $0.append(request.reason) }
            let policy = QiniuPutPolicy(scope: .key(request.key!, bucket: "photos"), deadline: .now + 60)
            return try QiniuFixture.keys.uploadToken(for: policy)
        }
        fixture.store.fail(.refuse(401, "expired token"), on: .part, part: 2)
        let client = fixture.client(tokens: tokens)
        _ = try await client.upload(.data(QiniuFixture.bytes(Self.size)), to: "k")
        #expect(reasons.withLock { $0 } == [.begin, .replace, .complete])
    }

    @Test func `a token that expires during an upload fails before the next request`() async throws {
        let fixture = try QiniuFixture()
        let time = Locked(Date.now)
        let hold = Gate()
        let bytes = QiniuFixture.bytes(Self.size)
        let policy = QiniuPutPolicy(scope: .key("k", bucket: "photos"), deadline: .now + 100)
        let token = try QiniuFixture.keys.uploadToken(for: policy)
        let client = fixture.client(tokens: .given(token)) {
            $0.now = { time.withLock { $0 } }
            $0.maximumConcurrentParts = 1
        }
        fixture.store.hold(at: hold)
        let upload = client.startUpload(.data(bytes), to: "k")
        try await fixture.store.waitUntil { !$0.log(.begin).isEmpty }
        time.withLock { $0 += 200 }
        hold.open()
        let error = await QiniuFixture.failure { () async throws(StoreError) in try await upload.value }
        #expect(error?.code == .uploadTokenExpired)
        #expect(fixture.store.state.log(.part).isEmpty)
    }

    @Test func `a file that changes between parts fails, and no object is made`() async throws {
        let fixture = try QiniuFixture()
        let (path, _) = try fixture.file(Self.size)
        let hold = Gate()
        fixture.store.hold(at: hold)
        let upload = fixture.client { $0.maximumConcurrentParts = 1 }.startUpload(.file(path: path), to: "k")
        try await fixture.store.waitUntil { !$0.log(.begin).isEmpty }
        try fixture.folder.get().overwrite("file.bin", at: 3_000_000, [1, 2, 3])
        hold.open()
        let error = await QiniuFixture.failure { () async throws(StoreError) in try await upload.value }
        #expect(error?.code == .sourceChanged)
        #expect(fixture.store.object("k") == nil)
        // The upload can't be resumed, so it was aborted in the store.
        try await fixture.store.waitUntil { $0.uploads.isEmpty && $0.aborted.count == 1 }
    }

    // MARK: Records

    @Test func `a failed upload resumes and sends only parts that the store does not list`() async throws {
        let fixture = try QiniuFixture()
        let (path, bytes) = try fixture.file(Self.size)
        let records = try fixture.records()
        let client = fixture.client {
            $0.records = records; $0.maximumConcurrentParts = 1
        }
        fixture.store.fail(.refuse(403, "no"), on: .part, part: 3)
        let error = await QiniuFixture.failure { () async throws(StoreError) in
            try await client.upload(.file(path: path), to: "k")
        }
        #expect(error?.code == .rejected && error?.status == 403 && error?.part == 3)
        let record = try readFile(try fixture.folder.get().path("records/\(try recordName(fixture))"))
        let text = String(decoding: record, as: UTF8.self)
        for token in Set(fixture.store.state.log.map(\.token)).filter({ !$0.isEmpty }) {
            for piece in token.split(separator: ":").dropFirst() { #expect(!text.contains(piece)) }
        }
        let object = try await client.upload(.file(path: path), to: "k")
        #expect(object.resumedBytes == 2 * 1_048_576)
        let state = fixture.store.state
        #expect(state.object("k")?.content.size == bytes.count && state.object("k")?.timesStored == 1)
        #expect(state.log(.begin).count == 1 && state.counts.values.allSatisfy { $0.resentAfterStored == 0 })
        #expect(state.log(.part).count == 5)
        #expect(try recordNames(fixture).isEmpty)
    }

    @Test func `a stopped upload can be discarded`() async throws {
        let fixture = try QiniuFixture()
        let (path, _) = try fixture.file(Self.size)
        let records = try fixture.records()
        let client = fixture.client { $0.records = records }
        #expect(try await !client.discardUpload(of: path, to: "k"))
        for isGone in [false, true] {
            fixture.store.fail(.refuse(403, "no"), on: .part, part: 3)
            _ = await QiniuFixture.failure { () async throws(StoreError) in
                try await client.upload(.file(path: path), to: "k")
            }
            let id = try #require(fixture.store.state.uploads.keys.first)
            if isGone { fixture.store.forget(id) }
            #expect(try await client.discardUpload(of: path, to: "k"))
            #expect(fixture.store.state.uploads.isEmpty)
            #expect(try recordNames(fixture).isEmpty)
        }
        #expect(fixture.store.state.aborted.count == 1)
    }

    @Test func `the upload ID is not printed`() throws {
        let policy = QiniuPutPolicy(scope: .bucket("b"), deadline: .now + 60)
        let call = QiniuChannel.Call(
            base: "https://up.example:8080", token: try QiniuFixture.keys.uploadToken(for: policy))
        let request = QiniuParts.request(.put, call, "/secret-id/7", bucket: "b", key: "k")
        #expect(request.url.hasSuffix("/buckets/b/objects/aw==/uploads/secret-id/7"))
        #expect("\(request)" == "PUT https://up.example:8080/<redacted> (empty)")
        #expect(!String(reflecting: request).contains("secret-id"))
    }

    @Test func `a redirect is not followed, so that the token is not sent elsewhere`() async throws {
        let fixture = try QiniuFixture()
        let elsewhere = try LoopbackServer()
        let front = try LoopbackServer(otherwise: .respond(307, headers: [("Location", elsewhere.url("/"))]))
        let client = fixture.client { $0.hosts = .fixed([front.url(""), fixture.store.url()]) }
        #expect(try await client.upload(.data([1]), to: "k").host == fixture.store.url())
        #expect(elsewhere.requests.isEmpty && front.requests.count == 1)
    }

    @Test func `a long part list is read in pages`() async throws {
        var settings = QiniuStoreSettings()
        settings.largestPage = 2
        let fixture = try QiniuFixture(settings)
        let (path, _) = try fixture.file(6 * 1_048_576 + 1)
        let records = try fixture.records()
        let client = fixture.client {
            $0.records = records; $0.maximumConcurrentParts = 1
        }
        fixture.store.fail(.refuse(403, "no"), on: .part, part: 6)
        _ = await QiniuFixture.failure { () async throws(StoreError) in
            try await client.upload(.file(path: path), to: "k")
        }
        let object = try await client.upload(.file(path: path), to: "k")
        #expect(object.resumedBytes == 5 * 1_048_576)
        #expect(fixture.store.state.counts.values.allSatisfy { $0.resentAfterStored == 0 })
        #expect(fixture.store.state.log(.list).count == 3)
    }

    enum Spoiling: CaseIterable, Sendable {
        case fileTouched, fileReplaced, soonForgotten, otherHosts, otherParts, torn
    }

    @Test(arguments: Spoiling.allCases) func `an unusable record is not resumed`(
        spoiling: Spoiling
    ) async throws {
        var settings = QiniuStoreSettings()
        // A remaining lifetime of two hours or less is too short to resume.
        if spoiling == .soonForgotten { settings.uploadLifetime = 7_190 }
        let fixture = try QiniuFixture(settings, hosts: 2)
        let (path, _) = try fixture.file(Self.size)
        let records = try fixture.records()
        let client = fixture.client {
            $0.records = records; $0.maximumConcurrentParts = 1
        }
        fixture.store.fail(.refuse(403, "no"), on: .part, part: 3)
        _ = await QiniuFixture.failure { () async throws(StoreError) in
            try await client.upload(.file(path: path), to: "k")
        }
        var second = client
        switch spoiling {
        case .fileTouched: try fixture.folder.get().overwrite("file.bin", at: 0, [0])
        case .fileReplaced:
            _ = try fixture.file(Self.size, "other.bin", seed: 8)
            let other = try fixture.folder.get().path("other.bin")
            let isRenamed = unsafe rename(other, path) == 0
            #expect(isRenamed)
        case .soonForgotten: break
        case .otherHosts:
            second = fixture.client {
                $0.records = records; $0.hosts = .fixed([fixture.store.url(1)])
            }
        case .otherParts:
            second = fixture.client {
                $0.records = records; $0.partSize = .mebibytes(2)
            }
        case .torn: try fixture.folder.get().overwrite("records/\(try recordName(fixture))", at: 40, [0, 0])
        }
        let object = try await second.upload(.file(path: path), to: "k")
        let state = fixture.store.state
        #expect(object.resumedBytes == 0 && state.log(.begin).count == 2)
        #expect(state.object("k")?.content.size == Self.size)
        #expect(try recordNames(fixture).isEmpty)
    }

    @Test func `an upload unknown to the store is restarted once`() async throws {
        for (times, ends) in [(1, true), (nil, false)] as [(Int?, Bool)] {
            let fixture = try QiniuFixture()
            let (path, _) = try fixture.file(Self.size)
            let records = try fixture.records()
            let client = fixture.client { $0.records = records }
            fixture.store.fail(.forget, on: .part, part: 2, times: times)
            let error = await QiniuFixture.failure { () async throws(StoreError) in
                try await client.upload(.file(path: path), to: "k")
            }
            #expect((error == nil) == ends)
            #expect(error == nil || error?.code == .uploadGone)
            #expect(fixture.store.state.log(.begin).count == 2)
        }
    }

    @Test func `a second upload with the same record fails or waits`() async throws {
        let fixture = try QiniuFixture()
        let (path, _) = try fixture.file(Self.size)
        let hold = Gate()
        fixture.store.hold(at: hold)
        let records = try fixture.records()
        let first = fixture.client { $0.records = records }.startUpload(.file(path: path), to: "k")
        try await fixture.store.waitUntil { !$0.log(.begin).isEmpty }
        let error = await QiniuFixture.failure { () async throws(StoreError) in
            try await fixture.client { $0.records = records }.upload(.file(path: path), to: "k")
        }
        #expect(error?.code == .recordInUse)
        let waiting = try fixture.records(.wait)
        let second = fixture.client { $0.records = waiting }.startUpload(.file(path: path), to: "k")
        hold.open()
        _ = try await first.value
        _ = try await second.value
        #expect(fixture.store.object("k")?.timesStored == 2)
        #expect(fixture.store.state.counts.values.allSatisfy { $0.peakInFlight == 1 })
    }

    @Test func `a cancelled upload ends immediately and can be resumed`() async throws {
        let fixture = try QiniuFixture()
        let (path, _) = try fixture.file(Self.size)
        let records = try fixture.records()
        let client = fixture.client {
            $0.records = records; $0.maximumConcurrentParts = 1
        }
        fixture.store.fail(.stall(afterBodyBytes: 100_000), on: .part, part: 2)
        let upload = client.startUpload(.file(path: path), to: "k")
        try await fixture.store.waitUntil {
            ($0.log(.part).last?.bodyBytes ?? 0) >= 100_000 && $0.log(.part).count == 2
        }
        upload.cancel()
        let error = await QiniuFixture.failure { () async throws(StoreError) in try await upload.value }
        #expect(error?.isCancelled == true && upload.currentProgress.phase == .cancelled)
        let object = try await client.upload(.file(path: path), to: "k")
        #expect(object.resumedBytes == 1_048_576)
    }

    private func recordNames(_ fixture: QiniuFixture) throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.get().path("records"))
        return names.filter { $0.hasSuffix(".json") }
    }

    private func recordName(_ fixture: QiniuFixture) throws -> String {
        try #require(try recordNames(fixture).first)
    }
}
