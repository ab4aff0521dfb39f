import TestSupport
import Testing

@testable import TestSupport

/// The store fails as scripted, the given number of times and only there.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct OSSFaultTests {
    @Test func `a busy store responds with 503 as often as scripted`() throws {
        let store = try OSSStore()
        let client = StoreClient(store: store)
        store.fail(.busy(retryAfter: 3), on: .putObject, times: 2)
        for _ in 0..<2 {
            let response = try client.send("PUT", "/a", body: [1])
            #expect(response.status == 503)
            #expect(response.value("Retry-After") == "3")
        }
        #expect(try client.send("PUT", "/a", body: [1]).status == 200)
        #expect(store.object("a")?.timesStored == 1)
    }

    @Test func `a fault applies to the given part`() throws {
        let store = try OSSStore()
        let client = StoreClient(store: store)
        let id = try client.initiate("a")
        store.fail(.noSuchUpload, on: .uploadPart, part: 2)
        #expect(try client.send("PUT", "/a?partNumber=1&uploadId=\(id)", body: [1]).status == 200)
        #expect(try client.send("PUT", "/a?partNumber=2&uploadId=\(id)", body: [1]).code == "NoSuchUpload")
        #expect(try client.send("GET", "/a?uploadId=\(id)").code == "NoSuchUpload")
    }

    @Test func `a connection is dropped within a body`() async throws {
        let store = try OSSStore()
        let client = StoreClient(store: store)
        store.fail(.drop(afterBodyBytes: 1_000))
        #expect(throws: SystemCallFailure.self) {
            try client.send("PUT", "/a", body: .init(repeating: 1, count: 5_000))
        }
        let state = try await store.settled()
        #expect(state.log[0].bodyBytes == 1_000)
        #expect(state.log[0].status == nil)
        #expect(state.keys() == [])
    }

    @Test func `a stalled body stays unread`() async throws {
        let store = try OSSStore()
        store.fail(.stall(afterBodyBytes: 10))
        let client = StoreClient(store: store)
        let raw = try RawClient(port: store.port)
        try raw.send(client.request("PUT", "/a", length: 1_000))
        try raw.send([UInt8](repeating: 1, count: 1_000))
        let state = try await store.waitUntil { $0.log.first?.bodyBytes == 10 }
        #expect(state.inFlight == 1)
    }

    @Test func `a stored object can receive a wrong response`() async throws {
        let store = try OSSStore()
        let client = StoreClient(store: store)
        let right = try client.send("PUT", "/a", body: [1]).value("x-oss-hash-crc64ecma")
        store.fail(.wrongChecksum)
        let wrong = try client.send("PUT", "/a", body: [1]).value("x-oss-hash-crc64ecma")
        #expect(right != wrong && wrong != nil)
        store.fail(.callbackFailed)
        let called = try client.send("PUT", "/a", body: [1])
        #expect(called.status == 203)
        #expect(called.code == "CallbackFailed")
        store.fail(.storeThenDrop)
        _ = try? client.send("PUT", "/a", body: [1])
        try await store.settled()
        #expect(store.object("a")?.timesStored == 4)
        for xml in OSSFault.HostileXML.allCases {
            store.fail(.xml(status: 200, xml))
            #expect(try client.send("POST", "/a?uploads").body.hasPrefix("<?xml"))
        }
    }

    @Test func `tokens expire, expectations are rejected, and proxies return pages`() throws {
        let store = try OSSStore()
        let client = StoreClient(store: store)
        store.fail(.tokenExpired)
        #expect(try client.send("PUT", "/a", body: [1]).code == "SecurityTokenExpired")
        store.fail(.html(status: 502))
        let page = try client.send("PUT", "/a", body: [1])
        #expect(page.status == 502)
        #expect(page.body.hasPrefix("<html>"))
        store.fail(.refuseContinue)
        #expect(try client.send("PUT", "/a", body: [1]).status == 200)
        let raw = try RawClient(port: store.port)
        try raw.send(client.request("PUT", "/b", ["Expect: 100-continue"], length: 10))
        #expect(try raw.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 417 "))
        #expect(store.object("b") == nil)
    }

    @Test func `a rejection precedes the body if the client expects 100-continue`() throws {
        let store = try OSSStore()
        let raw = try RawClient(port: store.port)
        let client = StoreClient(store: store, account: OSSAccount("ak", "other"))
        try raw.send(client.request("PUT", "/b", ["Expect: 100-continue"], length: 10))
        #expect(try raw.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 403 "))
        let other = try RawClient(port: store.port)
        try other.send(StoreClient(store: store).request("PUT", "/b", ["Expect: 100-continue"], length: 1))
        #expect(try other.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 100 "))
        try other.send([1])
        #expect(try other.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
    }

    @Test(arguments: OSSSkew.Report.allCases) func `a wrong clock is reported in five ways`(
        _ report: OSSSkew.Report
    ) throws {
        let store = try OSSStore()
        for seconds in [-1_200, 1_200] {
            store.skew(OSSSkew(seconds: seconds, report: report))
            let response = try StoreClient(store: store).send("PUT", "/a")
            #expect(response.status == (report == .invalidSigningDate ? 400 : 403))
            #expect(response.code == (report == .invalidSigningDate ? "InvalidArgument" : "RequestTimeTooSkewed"))
            let hasTime = report == .serverTime || report == .serverTimeAndDateOf1970
            #expect(response.body.contains("<ServerTime>") == hasTime)
            let hasDate = response.value("Date") != "Thu, 01 Jan 1970 00:00:00 GMT"
            #expect(hasDate == (report != .dateOf1970 && report != .serverTimeAndDateOf1970))
            #expect(try StoreClient(store: store, skew: seconds).send("PUT", "/a").status == 200)
        }
        store.clearFaults()
        #expect(try StoreClient(store: store).send("PUT", "/a").status == 200)
    }
}
