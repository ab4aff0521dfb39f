import HTTPTypes
import Testing

@testable import Waybill

/// What each redirect status does to each kind of request, as a table.
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
        case .stay: "stay"
        case .refuse(let code, _): "\(code)"
        case .follow(let hop):
            "\(hop.method) \(hop.url)\(hop.sendsBody ? " body" : "")\(hop.keepsSecrets ? " secrets" : "")"
        }
    }

    @Test(arguments: [
        (307, RedirectPolicy.standard, "POST https://me:pw@a.example/new body secrets"),
        (308, .standard, "POST https://me:pw@a.example/new body secrets"),
        (303, .standard, "GET https://me:pw@a.example/new secrets"),
        (301, .standard, "redirectWouldDropBody"), (302, .standard, "redirectWouldDropBody"),
        (301, .asGET, "GET https://me:pw@a.example/new secrets"),
        (302, .resend, "POST https://me:pw@a.example/new body secrets"),
        (300, .standard, "stay"), (304, .standard, "stay"), (305, .standard, "stay"), (306, .standard, "stay"),
        (200, .standard, "stay"), (404, .standard, "stay"), (307, .returned, "stay"), (302, .returned, "stay"),
    ])
    func `after a body`(status: Int, policy: RedirectPolicy, result expected: String) {
        #expect(result(route(.post, policy), status) == expected)
    }

    private func route(_ method: HTTPRequest.Method, _ policy: RedirectPolicy) -> UploadRoute {
        route(method, sendsBody: true, policy)
    }

    @Test(arguments: [
        (HTTPRequest.Method.get, 301, "GET"), (.get, 302, "GET"), (.head, 303, "HEAD"), (.delete, 302, "DELETE"),
        (.post, 301, "POST"), (.post, 303, "GET"), (.delete, 307, "DELETE"),
    ])
    func `without a body`(method: HTTPRequest.Method, status: Int, becomes: String) {
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
    func `where a location leads`(location: String, expected: String) {
        #expect(result(route(), 307, location) == expected)
    }

    @Test func `no location at all`() {
        #expect(result(route(), 307, nil) == "redirectRefused")
    }

    @Test func `a body that can be read once stays where it is`() {
        #expect(result(route(), 307, isReplayable: false) == "bodyNotReplayable")
        #expect(result(route(), 303, isReplayable: false) == "GET https://me:pw@a.example/new secrets")
    }

    @Test func `five hops and no circle, and credentials that were dropped don't come back`() throws {
        var route = route()
        for number in 1...5 {
            let url = number.isMultiple(of: 2) ? "https://a.example/\(number)" : "https://b.example/\(number)"
            var head = HTTPResponse(status: .temporaryRedirect)
            head.headerFields[.location] = url
            guard case .follow(let hop) = route.decision(after: head, isReplayable: true) else {
                Issue.record("hop \(number) is not followed")
                return
            }
            #expect(!hop.keepsSecrets)
            route.follow(hop, status: .temporaryRedirect)
            #expect(result(route, 307, Self.start) == "redirectLoop")
        }
        #expect(route.redirects.map(\.url).last == "https://b.example/5")
        #expect(result(route, 307) == "tooManyRedirects")
    }
}
