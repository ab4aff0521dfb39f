import HTTPTypes
import TestSupport
import Testing
import WaybillTesting

@testable import Waybill

@Suite struct CookieJarTests {
    private let clock = ManualClock()

    private func jar(_ lines: [String], from url: String = "https://h.example/a/b", date: String? = nil) -> CookieJar {
        let jar = CookieJar(clock: clock)
        var fields = HTTPFields()
        for line in lines { fields.append(HTTPField(name: .setCookie, value: line)) }
        if let date { fields[.date] = date }
        jar.store(fields, from: url)
        return jar
    }

    @Test func `a cookie is sent to its host on every port, and to no other host`() {
        let jar = jar(["sid=1; Domain=example; HttpOnly", "lang=zh"])
        #expect(jar.field(for: "https://h.example/a/x") == "sid=1; lang=zh")
        #expect(jar.field(for: "http://H.example:81/a") == "sid=1; lang=zh")
        for url in ["https://example/a/", "https://x.h.example/a/", "https://h.example.evil/a/"] {
            #expect(jar.field(for: url) == nil, "\(url)")
        }
    }

    /// RFC 6265 section 5.1.4.
    @Test func `a cookie is limited to its path, and longer paths come first`() {
        let jar = jar(["p=1; Path=/a/", "q=2; Path=/", "r=3; Path=/a/b", "s=4; Path=elsewhere"])
        #expect(jar.field(for: "https://h.example/a/b/c") == "r=3; p=1; s=4; q=2")
        #expect(jar.field(for: "https://h.example/a/bc") == "p=1; s=4; q=2")
        #expect(jar.field(for: "https://h.example/ab") == "q=2")
        #expect(jar.field(for: "https://h.example") == "q=2")
    }

    @Test func `a secure cookie needs TLS to be sent and to be set`() {
        #expect(jar(["sid=1; Secure"]).field(for: "http://h.example/a/") == nil)
        #expect(jar(["sid=1; Secure"]).field(for: "https://h.example/a/") == "sid=1")
        #expect(jar(["sid=1; Secure"], from: "http://h.example/a/b").count == 0)
    }

    /// RFC 6265bis section 5.7.
    @Test func `a response without TLS neither replaces nor removes a secure cookie`() {
        for line in ["sid=2; Path=/a/", "sid=2; Path=/a/deeper", "sid=; Max-Age=0; Path=/a/"] {
            let jar = jar(["sid=1; Secure; Path=/a/"])
            jar.store([.setCookie: line], from: "http://h.example/a/b")
            #expect(jar.field(for: "https://h.example/a/deeper/") == "sid=1", "\(line)")
        }
        let other = jar(["sid=1; Secure; Path=/a/"])
        other.store([.setCookie: "sid=2; Path=/c/"], from: "http://h.example/c/")
        #expect(other.field(for: "http://h.example/c/") == "sid=2")
    }

    @Test func `Max-Age and Expires end a cookie, and Max-Age takes precedence`() {
        let jar = jar(
            [
                "a=1; Max-Age=10", "b=1; Expires=Sat, 21 Nov 2026 10:00:20 GMT",
                "c=1; Max-Age=30; Expires=Sat, 21 Nov 2026 10:00:05 GMT", "d=1; Max-Age=x", "e=1; Max-Age=0",
            ], date: "Sat, 21 Nov 2026 10:00:00 GMT")
        let url = "https://h.example/a/"
        #expect(jar.field(for: url) == "a=1; b=1; c=1; d=1")
        clock.advance(by: .seconds(11))
        #expect(jar.field(for: url) == "b=1; c=1; d=1")
        clock.advance(by: .seconds(10))
        #expect(jar.field(for: url) == "c=1; d=1")
        clock.advance(by: .seconds(10))
        #expect(jar.field(for: url) == "d=1")
    }

    @Test func `a cookie is replaced by a new value and removed by Max-Age=0`() {
        let jar = jar(["a=1", "a=2", "b=1"])
        #expect(jar.field(for: "https://h.example/a/") == "a=2; b=1")
        jar.store([.setCookie: "a=; Max-Age=0"], from: "https://h.example/a/b")
        #expect(jar.field(for: "https://h.example/a/") == "b=1")
    }

    @Test(arguments: ["", "=x", "novalue", "; Path=/", " =1", "a=" + String(repeating: "x", count: 4_100)])
    func `an invalid cookie is ignored`(line: String) {
        #expect(jar([line]).count == 0)
    }

    @Test func `the number of cookies is bounded per host and in total`() {
        let jar = jar([])
        for number in 0..<60 { jar.store([.setCookie: "c\(number)=1"], from: "http://one.example/") }
        #expect(jar.count == CookieJar.limits.perHost)
        #expect(jar.field(for: "http://one.example/")?.hasPrefix("c10=1") == true)
        for host in 0..<100 {
            for number in 0..<40 { jar.store([.setCookie: "c\(number)=1"], from: "http://h\(host).example/") }
        }
        #expect(jar.count <= CookieJar.limits.total)
        #expect(jar.field(for: "http://one.example/") == nil)
        #expect(jar.field(for: "http://h99.example/") != nil)
        jar.removeAll()
        #expect(jar.count == 0 && "\(jar)" == "jar of 0 cookies")
    }

    @Test func `a session with a jar stores cookies and sends them with those of the request`() async throws {
        let answer = TransferScript.responding(.ok, headers: [.setCookie: "sid=s3cret"])
        let (session, transport, _) = SessionWorld.intercepted([], [answer]) { $0.cookies = CookieJar() }
        let (plain, bare, _) = SessionWorld.intercepted([], [answer])
        for _ in 0..<2 {
            _ = try await session.upload(.data([1]), to: SessionWorld.url, headers: [.cookie: "own=1"])
            _ = try await plain.upload(.data([1]), to: SessionWorld.url)
        }
        #expect(transport.transfers.map { $0.request.headers[.cookie] } == ["own=1", "own=1; sid=s3cret"])
        #expect(bare.transfers.allSatisfy { $0.request.headers[.cookie] == nil })
        var options = UploadOptions()
        options.excludedDefaults = .cookies
        _ = try await session.upload(.data([1]), to: SessionWorld.url, options: options)
        #expect(transport.transfers[2].request.headers[.cookie] == nil)
    }

    @Test func `a redirect sets cookies, and those of another host are sent only there`() async throws {
        var there = TransferScript.redirecting(to: "http://other.example/")
        there = .responding(.temporaryRedirect, headers: [.location: "http://other.example/", .setCookie: "here=1"])
        let (session, transport, _) = SessionWorld.intercepted(
            [], [there, .responding(.ok, headers: [.setCookie: "there=1"]), .responding(.ok)]
        ) { $0.cookies = CookieJar() }
        _ = try await session.upload(.data([1]), to: SessionWorld.url)
        _ = try await session.upload(.data([1]), to: SessionWorld.url)
        _ = try await session.upload(.data([1]), to: "http://other.example/x")
        #expect(transport.transfers.map { $0.request.headers[.cookie] } == [nil, nil, "here=1", "there=1"])
    }
}
