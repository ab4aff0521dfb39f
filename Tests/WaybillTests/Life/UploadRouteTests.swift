import HTTPTypes
import Testing

@testable import Waybill

/// The effect of each redirect status on each type of request, as a table.
@Suite struct UploadRouteTests {
    private static let start = "https://me:pw@a.example/up?x=1"

    private func route(
        _ method: HTTPRequest.Method = .post, sendsBody: Bool = true, _ policy: RedirectPolicy = .standard
    ) -> UploadRoute {
        UploadRoute(.init(method: method, url: Self.start, host: "a.example:443", sendsBody: sendsBody), policy: policy)
    }

    private func result(
        _ route: UploadRoute, _ status: Int, _ location: String? = "/new", isReplayable: Bool = true
    ) -> String {
        var head = HTTPResponse(status: .init(code: status))
        head.headerFields[.location] = location
        return switch route.decision(after: head, isReplayable: isReplayable) {
        case .none: "none"
        case .refuse(let code, _): "\(code)"
        case .ignore: "ignored"
        case .follow(let hop):
            "\(hop.method) \(hop.url)\(hop.sendsBody ? " body" : "")\(hop.sendsCredentials ? " secrets" : "")"
        }
    }

    @Test(arguments: [
        (307, RedirectPolicy.standard, "POST https://me:pw@a.example/new body secrets"),
        (308, .standard, "POST https://me:pw@a.example/new body secrets"),
        (303, .standard, "GET https://me:pw@a.example/new secrets"),
        (301, .standard, "redirectWouldDropBody"), (302, .standard, "redirectWouldDropBody"),
        (301, .asGET, "GET https://me:pw@a.example/new secrets"),
        (302, .resend, "POST https://me:pw@a.example/new body secrets"),
        (300, .standard, "none"), (304, .standard, "none"), (305, .standard, "none"), (306, .standard, "none"),
        (200, .standard, "none"), (404, .standard, "none"), (307, .returned, "ignored"), (302, .returned, "ignored"),
    ])
    func `status and policy decide redirects of a body`(status: Int, policy: RedirectPolicy, result expected: String) {
        #expect(result(route(.post, policy), status) == expected)
    }

    private func route(_ method: HTTPRequest.Method, _ policy: RedirectPolicy) -> UploadRoute {
        route(method, sendsBody: true, policy)
    }

    @Test(arguments: [
        (HTTPRequest.Method.get, 301, "GET"), (.get, 302, "GET"), (.head, 303, "HEAD"), (.delete, 302, "DELETE"),
        (.post, 301, "POST"), (.post, 303, "GET"), (.delete, 307, "DELETE"),
    ])
    func `without a body, only 303 turns POST into GET`(method: HTTPRequest.Method, status: Int, becomes: String) {
        #expect(result(route(method, sendsBody: false), status) == "\(becomes) https://me:pw@a.example/new secrets")
    }

    @Test(arguments: [
        ("https://a.example:443/x", "POST https://me:pw@a.example:443/x body secrets"),
        ("https://A.EXAMPLE/x", "POST https://me:pw@A.EXAMPLE/x body secrets"),
        ("//a.example:8443/x", "POST https://a.example:8443/x body"),
        ("https://b.example/x#frag", "POST https://b.example/x body"),
        ("https://you:word@b.example/x", "POST https://b.example/x body"),
        ("https://you:word@a.example/x", "POST https://me:pw@a.example/x body secrets"),
        ("http://a.example/x", "redirectRefused"), ("file:///etc/passwd", "redirectRefused"),
        ("javascript:alert(1)", "redirectRefused"), ("ftp://a.example/x", "redirectRefused"),
        ("https://", "redirectRefused"), ("https://good.example\\@evil.example/", "redirectRefused"),
        ("", "redirectRefused"), ("https://a.example/up?x=1", "redirectLoop"), ("#x", "redirectLoop"),
    ])
    func `the location decides target, credentials and refusal`(location: String, expected: String) {
        #expect(result(route(), 307, location) == expected)
    }

    @Test func `a redirect without a location is refused or returned`() {
        #expect(result(route(), 307, nil) == "redirectRefused")
        #expect(result(route(.post, .returned), 307, nil) == "none")
    }

    private func message(
        _ route: UploadRoute, _ status: Int, _ location: String, isReplayable: Bool = true
    ) -> String {
        let head = HTTPResponse(status: .init(code: status), headerFields: [.location: location])
        return switch route.decision(after: head, isReplayable: isReplayable) {
        case .refuse(_, let message), .ignore(let message): message
        case .none, .follow: ""
        }
    }

    @Test(arguments: [
        ("new?key=s3cr3t#f", "https://<redacted>@a.example/new?<redacted>"),
        ("//you:w0rd@b.example/x", "https://<redacted>@b.example/x"), ("http://b.example/x", "http://b.example/x"),
        ("https://b.example/\u{202E}?s3cr3t", "https://b.example/%E2%80%AE?<redacted>"),
        ("ftp://b.example/x", "ftp://b.example/x"),
    ])
    func `an unfollowed redirect is described with its absolute URL, without secrets`(
        location: String, address: String
    ) {
        for policy in [RedirectPolicy.standard, .returned] {
            let text = message(route(.post, policy), 302, location)
            #expect(text.hasPrefix("The server responded with 302, a redirect to \(address)"), "\(text)")
            #expect(!text.contains("s3cr3t") && !text.contains("w0rd"))
        }
    }

    @Test func `each refusal has the URL and the remedy`() {
        let text = "The server responded with 307, a redirect to https://b.example/x"
        let read = message(route(), 307, "https://b.example/x", isReplayable: false)
        #expect(
            read
                == "\(text), but the body is a stream that can be read only once. Send it to that URL, or from a file."
        )
        let plain = message(route(), 307, "http://b.example/x")
        #expect(plain.hasSuffix("http://b.example/x. The redirect is refused. It leads from https to http."))
        let loop = message(route(), 307, "?x=1")
        #expect(loop.hasSuffix("/up?<redacted>, where the upload was already sent. Send it to the final URL."))
        let none = message(route(.post, RedirectPolicy(maxHops: 0)), 307, "https://b.example/x")
        #expect(none == "\(text), which exceeds the limit of 0 redirects. Send the upload to the final URL.")
        #expect(message(route(), 302, "/x").hasSuffix("or set options.redirects to .resend or .asGET."))
    }

    @Test func `a very long location is truncated in the message`() {
        let text = message(route(), 302, "https://b.example/" + String(repeating: "x", count: 100_000))
        #expect(text.utf8.count < 1_300 && text.contains("…"))
    }

    @Test func `a body that can be read only once is not sent again`() {
        #expect(result(route(), 307, isReplayable: false) == "bodyNotReplayable")
        #expect(result(route(), 303, isReplayable: false) == "GET https://me:pw@a.example/new secrets")
    }

    @Test func `at most five hops are followed, without loops, and dropped credentials stay dropped`() throws {
        var route = route()
        for number in 1...5 {
            let url = number.isMultiple(of: 2) ? "https://a.example/\(number)" : "https://b.example/\(number)"
            var head = HTTPResponse(status: .temporaryRedirect)
            head.headerFields[.location] = url
            guard case .follow(let hop) = route.decision(after: head, isReplayable: true) else {
                Issue.record("hop \(number) is not followed")
                return
            }
            #expect(!hop.sendsCredentials)
            route.follow(hop, status: .temporaryRedirect)
            #expect(result(route, 307, Self.start) == "redirectLoop")
        }
        #expect(route.redirects.map(\.url).last == "https://b.example/5")
        #expect(result(route, 307) == "tooManyRedirects")
    }

    /// `a` is the origin of the upload; the letters are the hosts of the redirects.
    @Test(arguments: ["b", "bb", "ba", "baa", "bbaa", "abb", "aba", "bcb"])
    func `dropped credentials stay dropped, also within one origin`(hosts: String) throws {
        var route = route()
        for (number, host) in hosts.enumerated() {
            var head = HTTPResponse(status: .temporaryRedirect)
            head.headerFields[.location] = "https://\(host).example/\(number)"
            guard case .follow(let hop) = route.decision(after: head, isReplayable: true) else {
                Issue.record("hop \(number) is not followed")
                return
            }
            #expect(hop.sendsCredentials == hosts.prefix(number + 1).allSatisfy { $0 == "a" }, "hop \(number)")
            route.follow(hop, status: .temporaryRedirect)
        }
    }
}
