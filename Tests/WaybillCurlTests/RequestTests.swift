import HTTPTypes
import Testing
import WaybillCore

@testable import WaybillCurl

@Suite struct RequestTests {
    @Test(arguments: [
        "file:///etc/passwd", "ftp://host/a", "oss://bucket/key", "gopher://host", "", "no scheme", "http://",
        "http:// /",
        "/relative", "http://host:99999/", "javascript:alert(1)",
    ])
    func `only absolute http and https URLs are accepted`(url: String) throws {
        let error = #expect(throws: TransferError.self) {
            try RequestCheck.check(TransferRequest(method: .post, url: url))
        }
        #expect(error?.code == .invalidURL)
        #expect(error?.outcome == .notSent)
    }

    @Test(arguments: [
        "http://host", "https://host:8443/a?b=c", "http://[::1]:80/", "HTTP://host/", "http://user:pw@host/",
    ])
    func `valid URLs are accepted`(url: String) throws {
        try RequestCheck.check(TransferRequest(method: .post, url: url))
    }

    @Test func `the last checked URL is cached without affecting others`() throws {
        var cache = URLPartsCache()
        func origin(_ url: String, _ headers: HTTPFields = [:]) throws -> String {
            try cache.check(TransferRequest(method: .post, url: url, headers: headers)).origin
        }
        #expect(try origin("http://Host/a") == "http://host:80")
        #expect(try origin("http://Host/a") == "http://host:80")
        #expect(try origin("https://host:8443/a") == "https://host:8443")
        #expect(throws: TransferError.self) { try origin("ftp://host/a") }
        #expect(throws: TransferError.self) { try origin("https://host:8443/a", [HTTPField.Name("Host")!: "other"]) }
        #expect(try origin("https://host:8443/a") == "https://host:8443")
    }

    @Test(arguments: ["Content-Length", "transfer-encoding", "Host", "Connection", "Expect", "Trailer"])
    func `framing fields are reserved for the transport`(name: String) {
        let headers: HTTPFields = [HTTPField.Name(name)!: "5"]
        let request = TransferRequest(method: .post, url: "http://host", headers: headers)
        let error = #expect(throws: TransferError.self) { try RequestCheck.check(request) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains(HTTPField.Name(name)!.canonicalName) == true)
    }

    @Test func `a rate of 0 is rejected`() {
        var request = TransferRequest(method: .post, url: "http://host")
        request.options.rateLimit = .bytes(0)
        #expect(throws: TransferError.self) { try RequestCheck.check(request) }
    }

    @Test(
        arguments: [
            (100, nil, "http://h", 65_536), (100_000, nil, "http://h", 114_688), (114_688, nil, "HTTP://h", 114_688),
            (114_689, nil, "http://h", 65_536), (100_000, nil, "HTTPS://h", 65_536),
            (1 << 20, nil, "http://h", 262_144), (1 << 30, nil, "https://h", 262_144),
            ((1 << 20) - 1, nil, "https://h", 65_536), (1 << 20, nil, "https://h", 262_144),
            (nil, nil, "https://h", 262_144),
            (1 << 30, 200 << 10, "http://h", 25_600), (1 << 30, 1 << 30, "http://h", 65_536),
            (1 << 30, 1_000, "http://h", 16_384),
            (nil, nil, "http://h", 262_144), (64 << 20, nil, "http://h", 262_144),
            ((64 << 20) - 1, nil, "http://h", 262_144),
        ] as [(Int64?, Int64?, String, Int)])
    func `the upload buffer fits body, rate and TLS`(length: Int64?, rate: Int64?, url: String, size: Int) {
        var request = TransferRequest(method: .post, url: url, body: ScriptedBody(length: length, []))
        request.options.rateLimit = rate.map { .bytes($0) }
        #expect(EasyHandle.uploadBufferSize(for: request) == size)
        // The next test is about those that are larger when nothing else is sent.
        if rate != nil || !url.hasPrefix("http:") {
            #expect(EasyHandle.uploadBufferSize(for: request, isAlone: true) == size)
        }
    }

    @Test(
        arguments: [
            (114_689, 65_536), (1 << 20, 524_288), ((64 << 20) - 1, 524_288), (64 << 20, 2 << 20), (nil, 524_288),
        ] as [(Int64?, Int)])
    func `the only transfer gets a larger buffer`(length: Int64?, size: Int) {
        let request = TransferRequest(method: .post, url: "http://h", body: ScriptedBody(length: length, []))
        #expect(EasyHandle.uploadBufferSize(for: request, isAlone: true) == size)
    }

    @Test func `HTTP2 and Unix sockets use small buffers, and TLS proxies those of TLS`() {
        var request = TransferRequest(method: .post, url: "https://h", body: ScriptedBody(length: 1 << 30, []))
        request.options.httpVersion = .http2
        #expect(EasyHandle.uploadBufferSize(for: request) == 65_536)
        request.body = ScriptedBody(length: (112 << 10) + 1, [])
        #expect(EasyHandle.uploadBufferSize(for: request) == 65_536)
        request.body = ScriptedBody(length: 112 << 10, [])
        #expect(EasyHandle.uploadBufferSize(for: request) == 114_688)
        request.body = ScriptedBody(length: 1 << 30, [])
        request.options.httpVersion = .http1
        request.options.unixSocket = "/run/front"
        #expect(EasyHandle.uploadBufferSize(for: request) == 65_536)
        request = TransferRequest(method: .post, url: "http://h", body: ScriptedBody(length: 1 << 30, []))
        request.options.proxy = "https://proxy"
        #expect(EasyHandle.uploadBufferSize(for: request, isAlone: true) == 262_144)
    }
}
