import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

@Suite struct URLTextTests {
    @Test(arguments: [
        ("http://h/a b", "http://h/a%20b"), ("http://h/a%20b", "http://h/a%20b"), ("http://h/100%", "http://h/100%25"),
        ("http://h/%zz%4", "http://h/%25zz%254"), ("http://h/%25", "http://h/%25"),
        ("http://h/张 三?名=值 1&x=%E5", "http://h/%E5%BC%A0%20%E4%B8%89?%E5%90%8D=%E5%80%BC%201&x=%E5"),
        ("http://h/a?ids[]=1&q={x}|\"y\"", "http://h/a?ids[]=1&q=%7Bx%7D%7C%22y%22"),
        ("http://h/a+b?c+d", "http://h/a+b?c+d"), ("http://h/x#teil 1", "http://h/x"), ("http://h", "http://h"),
        ("http://用户:p w@h/", "http://%E7%94%A8%E6%88%B7:p%20w@h/"),
        ("http://bücher.example/ü", "http://bücher.example/%C3%BC"),
        ("http://h/?", "http://h/?"), ("http://h/e\u{301}", "http://h/e%CC%81"), ("http://h/é", "http://h/%C3%A9"),
        ("http://[::1]:80/a b", "http://[::1]:80/a%20b"),
    ])
    func `a URL is percent-encoded exactly once`(text: String, encoded: String) throws {
        #expect(try URLText.normalised(text) == encoded)
        #expect(try URLText.normalised(encoded) == encoded)
        #expect(
            try URLText.absolute(text, base: nil) == encoded || !text.contains { "% #".contains($0) || !$0.isASCII })
    }

    @Test(arguments: [
        " http://h/", "http://h/ ", "http://h/\n", "http://h/a\r\nX: y", "http://a b/", "http:// /", "http://h\u{0}/",
        "",
        "upload", "http://h\\@evil/",
    ])
    func `malformed URLs are refused, not encoded`(text: String) {
        let error = #expect(throws: UploadError.self) { try RequestPlan(UploadRequest(.post, text), .init()) }
        #expect(error?.code == .invalidURL)
    }

    @Test(arguments: [
        ("https://h/api/", "upload", "https://h/api/upload"), ("https://h/api", "upload", "https://h/upload"),
        ("https://h/api/", "/upload", "https://h/upload"), ("https://h/api/", "https://other/x", "https://other/x"),
        ("https://h", "upload", "https://h/upload"), ("https://h/a/b/", "../c", "https://h/a/c"),
        ("https://h/api/", "?id=1", "https://h/api/?id=1"), ("https://h/api/", "", "https://h/api/"),
        ("https://h/根 /", "上传?名=1", "https://h/%E6%A0%B9%20/%E4%B8%8A%E4%BC%A0?%E5%90%8D=1"),
        ("https://u:p@h:8443/x/", "y", "https://u:p@h:8443/x/y"), ("https://h/x/", "//other/y", "https://other/y"),
    ])
    func `a location is resolved against the base URL by RFC 3986`(base: String, location: String, url: String) throws {
        var configuration = UploadSession.Configuration()
        configuration.baseURL = base
        #expect(try RequestPlan(UploadRequest(.post, location), configuration).url == url)
    }

    @Test(arguments: [
        "https://h/?key=s3cret", "https://h/?", "https://h/#top", "h/api", "ftp://h/", "", "https://h/\n",
    ])
    func `a base URL with a query, with a fragment or without a host is refused`(base: String) throws {
        var configuration = UploadSession.Configuration()
        configuration.baseURL = base
        let error = #expect(throws: UploadError.self) { try RequestPlan(UploadRequest(.post, "x"), configuration) }
        #expect(error?.code == .invalidURL)
        #expect(try !"\(#require(error))".contains("s3cret"))
    }
}

/// Defaults that all uploads of a session share, and options that exclude them.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct GeneralConfigurationTests {
    private func world(_ configure: (inout UploadSession.Configuration) -> Void) -> (UploadSession, ScriptedTransport) {
        let (session, transport, _) = SessionWorld.intercepted([], [.responding(.ok)], configure: configure)
        return (session, transport)
    }

    @Test func `common fields come first, are created per upload, and yield to fields of the form`() async throws {
        let count = Watched(0)
        let (session, transport) = world {
            $0.baseURL = "http://backend.example/api/"
            $0.commonFields = CommonFields {
                count.update { $0 += 1 }
                return [.text("n", "\(count.value)"), .text("TOKEN", .secret("t")), .text("DOCTYPE", "none")]
            }
        }
        let form: MultipartForm = [.text("DOCTYPE", "ID"), .text("x", "y")]
        _ = try await session.upload(form, to: "up load")
        _ = try await session.upload(form, to: "upload")
        _ = try await session.upload(.data([1]), to: "upload")
        #expect(transport.transfers[0].request.url == "http://backend.example/api/up%20load")
        #expect(try transport.transfers[0].form().parts.map(\.name) == ["n", "TOKEN", "DOCTYPE", "x"])
        #expect(try transport.transfers.prefix(2).map { try $0.form().text("n") } == ["1", "2"])
        #expect(try transport.transfers[0].form().text("DOCTYPE") == "ID")
        #expect(transport.transfers[2].body == [1])
    }

    @Test func `an upload can exclude each session default`() async throws {
        let (session, transport) = world {
            $0.commonFields = [.text("common", "1")]
            $0.headers[.accept] = "text/x"
            $0.userAgent = UploadSession.Configuration.userAgent(for: "Clerk 柜台", version: "2.1 beta")
        }
        for omitted in [[], .commonFields, .headers, .userAgent, .all] as [SessionDefaults] {
            var options = UploadOptions()
            options.excludedDefaults = omitted
            _ = try await session.upload([.text("a", "b")], to: SessionWorld.url, options: options)
        }
        let sent = transport.transfers
        #expect(try sent.map { try $0.form().parts.count } == [2, 1, 2, 2, 1])
        #expect(sent.map { $0.request.headers[.accept] != nil } == [true, true, false, true, false])
        #expect(sent.map { $0.request.headers[.userAgent] != nil } == [true, true, true, false, false])
        #expect(sent[0].request.headers[.userAgent]?.hasPrefix("Clerk-/2.1-beta Waybill libcurl/") == true)
    }

    @Test func `an international host name is resolved by its ASCII form`() async throws {
        let server = try LoopbackServer()
        var options = UploadOptions()
        options.retry = .none
        options.transfer.resolve = ["xn--bcher-kva.example:\(server.port):127.0.0.1"]
        let url = "http://Bücher.example:\(server.port)/张 三"
        _ = try await UploadSession().upload(.data([1]), to: url, options: options)
        let request = try await server.request(0)
        #expect(request.value(of: "Host") == "xn--bcher-kva.example:\(server.port)")
        #expect(request.target == "/%E5%BC%A0%20%E4%B8%89")
    }
}
