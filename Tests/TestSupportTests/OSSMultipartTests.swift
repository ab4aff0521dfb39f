import TestSupport
import Testing

@testable import TestSupport

/// Multipart uploads, and the counts that tests rely on.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct OSSMultipartTests {
    @Test func `an object is assembled from its parts`() throws {
        var settings = OSSStoreSettings()
        settings.largestPage = 2
        let store = try OSSStore(settings)
        let client = StoreClient(store: store)
        var random = SeededGenerator()
        let parts = [random.bytes(102_400), random.bytes(150_000), random.bytes(7)]
        let id = try client.initiate("big")
        var etags: [(Int, String)] = []
        for (index, part) in parts.enumerated().reversed() {
            etags.insert((index + 1, try client.part(index + 1, of: "big", id, part)), at: 0)
        }
        let first = try client.send("GET", "/big?uploadId=\(id)").body
        #expect(StoreText.elements("PartNumber", in: first) == ["1", "2"])
        #expect(first.contains("<IsTruncated>true"))
        let second = try client.send("GET", "/big?uploadId=\(id)&part-number-marker=2&max-parts=10").body
        #expect(StoreText.elements("PartNumber", in: second) == ["3"])
        #expect(StoreText.elements("Size", in: second) == ["7"])
        #expect(second.contains("<IsTruncated>false"))

        let response = try client.complete("big", id, etags)
        #expect(response.status == 200, "\(response.body)")
        let whole = BodyIntake.stored(parts.flatMap { $0 })
        #expect(response.value("x-oss-hash-crc64ecma") == "\(whole.crc64)")
        let object = try #require(store.object("big"))
        #expect(object.content.bytes == parts.flatMap { $0 })
        #expect(object.etag.hasSuffix("-3"))
        #expect(object.parts[2]?.md5 == BodyIntake.stored(parts[1]).md5)
        #expect(try client.complete("big", id, etags).code == "NoSuchUpload")
        #expect(store.state.counts.values.allSatisfy { $0.begun == 1 && $0.stored == 1 && $0.peakInFlight == 1 })
    }

    @Test func `an invalid list of parts is rejected`() throws {
        let store = try OSSStore()
        let client = StoreClient(store: store)
        let id = try client.initiate("big")
        let large = [UInt8](repeating: 1, count: 102_400)
        let one = try client.part(1, of: "big", id, large)
        let small = try client.part(2, of: "big", id, [1])
        let three = try client.part(3, of: "big", id, large)
        func code(_ parts: (Int, String)...) throws -> String? { try client.complete("big", id, parts).code }
        #expect(try code((3, three), (1, one)) == "InvalidPartOrder")
        #expect(try code((1, one), (1, one)) == "InvalidPartOrder")
        #expect(try code((1, one), (2, small), (3, three)) == "EntityTooSmall")
        #expect(try code((1, one), (4, three)) == "InvalidPart")
        #expect(try code((1, small)) == "InvalidPart")
        #expect(try code() == "MalformedXML")
        #expect(try client.send("PUT", "/big?partNumber=10001&uploadId=\(id)").code == "InvalidArgument")
        #expect(try client.send("PUT", "/other?partNumber=1&uploadId=\(id)").code == "NoSuchUpload")
        #expect(try code((1, one), (3, three)) == nil)
        #expect(store.object("big")?.content.size == 204_800)
    }

    @Test func `an upload is aborted, and another is completed with all its parts`() throws {
        let store = try OSSStore()
        let client = StoreClient(store: store)
        let first = try client.initiate("a")
        #expect(try client.send("DELETE", "/a?uploadId=\(first)").status == 204)
        #expect(try client.send("GET", "/a?uploadId=\(first)").code == "NoSuchUpload")
        let second = try client.initiate("a")
        _ = try client.part(5, of: "a", second, [1, 2, 3])
        let response = try client.send("POST", "/a?uploadId=\(second)", ["x-oss-complete-all: yes"])
        #expect(response.status == 200, "\(response.body)")
        #expect(store.object("a")?.parts.keys.sorted() == [5])
    }

    @Test func `parts sent although they are stored are counted`() throws {
        let store = try OSSStore()
        let client = StoreClient(store: store)
        let id = try client.initiate("a")
        for _ in 0..<3 { _ = try client.part(1, of: "a", id, [1]) }
        let count = store.state.counts[.init(uploadID: id, number: 1)]
        #expect(count == OSSPartCount(begun: 3, stored: 3, resentAfterStored: 2, inFlight: 0, peakInFlight: 1))
    }

    @Test func `concurrent requests are counted, and aborted ones end`() async throws {
        let store = try OSSStore()
        let client = StoreClient(store: store)
        let id = try client.initiate("a")
        let head = try client.request("PUT", "/a?partNumber=1&uploadId=\(id)", length: 10)
        var clients = try [RawClient(port: store.port), RawClient(port: store.port)]
        for client in clients { try client.send(head) }
        let busy = try await store.waitUntil { $0.inFlight == 2 }
        #expect(busy.counts.values.map(\.peakInFlight) == [2])
        clients = []
        let calm = try await store.settled()
        #expect(calm.peakInFlight == 2)
        #expect(calm.counts.values.map(\.inFlight) == [0])
        #expect(calm.counts.values.map(\.stored) == [0])
        #expect(calm.log.filter { !$0.isOver }.isEmpty)
    }

    @Test func `a large part leaves only its digests`() throws {
        var settings = OSSStoreSettings()
        settings.keepsBodiesUpTo = 1_000
        let store = try OSSStore(settings)
        let client = StoreClient(store: store)
        let bytes = [UInt8](repeating: 7, count: 1_001)
        #expect(try client.send("PUT", "/a", body: bytes).status == 200)
        let object = try #require(store.object("a"))
        #expect(object.content.bytes == nil)
        #expect(object.content.md5 == BodyIntake.stored(bytes).md5)
        #expect(object.content.size == 1_001)
    }
}
