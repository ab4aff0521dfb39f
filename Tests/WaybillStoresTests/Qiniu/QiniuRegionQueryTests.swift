import FoundationEssentials
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

@Suite(.timeLimit(.minutes(1 * Slowness.factor))) struct QiniuRegionQueryTests {
    private func query(_ fixture: QiniuFixture, _ cache: String? = nil) -> QiniuRegionQuery {
        var query = QiniuRegionQuery()
        query.services = [fixture.store.url()]
        query.suffixes = ["127.0.0.1"]
        query.cacheDirectory = cache
        return query
    }

    private func makeClient(
        _ fixture: QiniuFixture, _ change: (inout QiniuClient.Configuration) -> Void = { _ in }
    ) -> QiniuClient {
        fixture.client { configuration in
            configuration.hosts = .queried(query(fixture))
            configuration.usesTLS = false
            change(&configuration)
        }
    }

    @Test func `concurrent and later uploads query the region once`() async throws {
        let fixture = try QiniuFixture()
        let client = makeClient(fixture)
        let uploads = (0..<12).map { client.startUpload(.data([UInt8($0)]), to: "k\($0)") }
        for upload in uploads { _ = try await upload.value }
        _ = try await client.upload(.data([1]), to: "later")
        #expect(fixture.store.state.log(.regions).count == 1)
        #expect(fixture.store.state.log(.regions)[0].lines[0] == "GET /v4/query?ak=ak&bucket=photos HTTP/1.1")
        #expect(fixture.store.state.keys().count == 13)
    }

    @Test func `a region response is cached for its lifetime`() async throws {
        var settings = QiniuStoreSettings()
        settings.regionLifetime = 100
        let fixture = try QiniuFixture(settings)
        let time = Locked(Date.now)
        let client = makeClient(fixture) { $0.now = { time.withLock { $0 } } }
        for (wait, asked) in [(0.0, 1), (99, 1), (2, 2)] {
            time.withLock { $0 += wait }
            _ = try await client.upload(.data([1]), to: "k")
            #expect(fixture.store.state.log(.regions).count == asked)
        }
    }

    @Test func `a region response is cached on disk if configured`() async throws {
        let fixture = try QiniuFixture()
        let cache = try fixture.folder.get().path("cache")
        let asked = query(fixture, cache)
        for _ in 0..<3 {
            _ = try await makeClient(fixture) { $0.hosts = .queried(asked) }.upload(.data([1]), to: "k")
        }
        #expect(fixture.store.state.log(.regions).count == 1)
        // Cached hosts that are no longer trusted are not used.
        var other = asked
        other.suffixes = ["qiniup.com"]
        let error = await QiniuFixture.failure { () async throws(StoreError) in
            try await makeClient(fixture) { $0.hosts = .queried(other) }.upload(.data([1]), to: "k")
        }
        #expect(error?.code == .regionUnknown)
        #expect(fixture.store.state.log(.regions).count == 2)
        try fixture.folder.get().overwrite("cache/qiniu-regions.json", at: 0, [0])
        _ = try await makeClient(fixture) { $0.hosts = .queried(asked) }.upload(.data([1]), to: "k")
        #expect(fixture.store.state.log(.regions).count == 3)
    }

    @Test func `an untrusted host gets no token`() async throws {
        var settings = QiniuStoreSettings()
        settings.regions = [["up.qiniup.com.evil.example", "localhost"]]
        let fixture = try QiniuFixture(settings)
        let error = await QiniuFixture.failure { () async throws(StoreError) in
            try await makeClient(fixture).upload(.data([1]), to: "k")
        }
        #expect(error?.code == .regionUnknown)
        #expect(fixture.store.state.log(.form).isEmpty)
    }

    @Test func `a wrong region is queried again once`() async throws {
        let elsewhere = QiniuFault.refuse(400, "incorrect region, please use up-z2.qiniup.com")
        for (times, forms) in [(1, 2), (nil, 2)] as [(Int?, Int)] {
            let fixture = try QiniuFixture()
            fixture.store.fail(elsewhere, on: .form, .begin, times: times)
            let client = makeClient(fixture)
            let error = await QiniuFixture.failure { () async throws(StoreError) in
                try await client.upload(.data([1]), to: "k")
            }
            #expect((error == nil) == (times == 1))
            #expect(fixture.store.state.log(.regions).count == 2)
            #expect(fixture.store.state.log(.form).count == forms)
        }
    }

    @Test func `a failing region is replaced by the next, and parts stay in their region`() async throws {
        var settings = QiniuStoreSettings()
        settings.regions = [["{0}"], ["{1}"]]
        let fixture = try QiniuFixture(settings, hosts: 2)
        fixture.store.fail(.refuse(503, ""), on: .form, .begin, .part, .complete, host: 0, times: nil)
        let object = try await makeClient(fixture).upload(.data(QiniuFixture.bytes(2_000_000)), to: "k")
        #expect(object.host == fixture.store.name(1))
        #expect(fixture.store.state.log(.part).allSatisfy { $0.host == 1 })
        #expect(fixture.store.state.log(.begin).map(\.host) == [0, 0, 1])
    }

    @Test func `region services are queried in order until one succeeds`() async throws {
        let fixture = try QiniuFixture()
        var query = query(fixture)
        query.services = ["http://127.0.0.1:1", fixture.store.url()]
        fixture.store.fail(.gibberish, on: .form)
        _ = try? await makeClient(fixture) { $0.hosts = .queried(query) }.upload(.data([1]), to: "k")
        #expect(fixture.store.state.log(.regions).count == 1 && fixture.store.state.log(.form).count == 1)
        query.services = ["http://127.0.0.1:1"]
        let error = await QiniuFixture.failure { () async throws(StoreError) in
            try await makeClient(fixture) { $0.hosts = .queried(query) }.upload(.data([1]), to: "k")
        }
        #expect(error?.code == .regionUnknown)
        fixture.store.clearFaults()
        fixture.store.fail(.refuse(631, "no such bucket"), on: .regions, times: nil)
        let none = await QiniuFixture.failure { () async throws(StoreError) in
            try await makeClient(fixture).upload(.data([1]), to: "k")
        }
        #expect(none?.code == .regionUnknown && none?.status == 631)
        #expect(none?.message.contains("no such bucket") == true)
    }
}
