import HTTPTypes
import FoundationEssentials
import Testing
import WaybillCore
import WaybillMultipart

@testable import Waybill

@Suite struct RequestPlanTests {
    @Test(arguments: [
        ("http://Host.Example/path", "host.example:80"), ("HTTPS://host.example", "host.example:443"),
        ("https://host.example:8443?x#y", "host.example:8443"),
        ("http://user:pw@host.example:81/@x", "host.example:81"),
        ("http://[::1]:8080/", "[::1]:8080"), ("http://[2001:DB8::1]", "[2001:db8::1]:80"),
        ("http://host.example:/", "host.example:80"), ("http://bücher.example/", "bücher.example:80"),
    ])
    func `a URL determines host and port`(url: String, target: String) throws {
        #expect(try RequestTarget(url).hostAndPort == target)
    }

    @Test(arguments: [
        "", "host.example/path", "/path", "file:///etc/passwd", "ftp://host.example/", "javascript:alert(1)", "http:/x",
        "http://", "http:///path", "http://user@/", "http://host.example:0/", "http://host.example:65536/",
        "http://host.example:80x/", "http://host.example:-1/", "http://[::1", "http://[::1]x/",
        "http://host.example/a b", "http://host.example/\r\nX: y", "http://host.example/\0",
        "http://good.example\\@evil.example/", " http://host.example",
    ])
    func `an invalid http URL is refused`(url: String) {
        let error = #expect(throws: UploadError.self) { try RequestTarget(url) }
        #expect(error?.code == .invalidURL)
        #expect(error?.outcome == .notSent)
        #expect(error?.isRetryable == false)
    }

    @Test func `a refused URL is quoted without its secrets`() throws {
        let error = #expect(throws: UploadError.self) { try RequestTarget("user:s3cr3t@host/?key=s3cr3t") }
        #expect(try !"\(#require(error))".contains("s3cr3t"))
    }

    @Test(arguments: TransferRequest.reservedFields)
    func `fields owned by the transport are refused by name`(name: HTTPField.Name) throws {
        var request = UploadRequest(.post, "http://host.example/")
        request.headers[name] = "1"
        let error = #expect(throws: UploadError.self) { try RequestPlan(request, .init()) }
        #expect(error?.code == .invalidRequest)
        #expect(try #require(error).message.contains(name.rawName))
    }

    @Test func `header fields of an upload replace those of the session`() throws {
        var configuration = UploadSession.Configuration()
        configuration.headers = [.accept: "a", .acceptLanguage: "de"]
        var request = UploadRequest(.post, "http://host.example/", headers: [.accept: "b"])
        request.headers.append(HTTPField(name: .accept, value: "c"))
        let headers = try RequestPlan(request, configuration).headers
        #expect(headers[values: .accept] == ["b", "c"])
        #expect(headers[.acceptLanguage] == "de")
        #expect(headers[.userAgent] == "Waybill")
    }

    @Test func `the user agent can be set or omitted, and must be a valid field`() throws {
        var configuration = UploadSession.Configuration()
        configuration.userAgent = nil
        let request = UploadRequest(.post, "http://host.example/")
        #expect(try RequestPlan(request, configuration).headers[.userAgent] == nil)
        configuration.userAgent = "x\r\nCookie: y"
        let error = #expect(throws: UploadError.self) { try RequestPlan(request, configuration) }
        #expect(error?.code == .invalidRequest)
    }

    @Test func `the content type is that of the body unless the caller sets one`() throws {
        let body = DataBody([1], contentType: "image/jpeg")
        let plan = try RequestPlan(UploadRequest(.put, "http://host.example/"), .init())
        #expect(try plan.headers(for: body)[.contentType] == "image/jpeg")
        #expect(try plan.headers(for: nil)[.contentType] == nil)
        let own = try RequestPlan(
            UploadRequest(.put, "http://host.example/", headers: [.contentType: "image/x-own"]), .init())
        #expect(try own.headers(for: body)[.contentType] == "image/x-own")
    }

    @Test func `a content type with a line break is refused`() throws {
        let plan = try RequestPlan(UploadRequest(.put, "http://host.example/"), .init())
        let error = #expect(throws: UploadError.self) {
            try plan.headers(for: DataBody([1], contentType: "text/plain\r\nX: y"))
        }
        #expect(error?.code == .invalidContentType)
    }

    @Test func `a content type without the boundary of the form is refused`() async throws {
        let body = try await MultipartForm([.text("a", "b")]).prepared(boundary: MultipartBoundary("xyz"))
        let plan = try RequestPlan(
            UploadRequest(.post, "http://host.example/", headers: [.contentType: "multipart/form-data"]), .init())
        let error = #expect(throws: UploadError.self) { try plan.headers(for: body) }
        #expect(error?.code == .invalidRequest)
        let related = "multipart/related; boundary=xyz"
        let own = try RequestPlan(
            UploadRequest(.post, "http://host.example/", headers: [.contentType: related]), .init())
        #expect(try own.headers(for: body)[.contentType] == related)
    }

    @Test func `a URL that is not a file URL is refused as content`() throws {
        let url = try #require(URL(string: "https://host.example/card.jpg?key=s3cr3t"))
        let request = UploadRequest(.put, "http://host.example/", content: .file(url))
        let error = #expect(throws: UploadError.self) { try RequestPlan(request, .init()) }
        #expect(error?.code == .invalidRequest)
        #expect(try !#require(error).message.contains("s3cr3t"))
    }

    @Test func `a URL and a String give the same request URL`() throws {
        let url = try #require(URL(string: "https://host.example/a?b=c"))
        #expect(UploadRequest(.post, url).url == UploadRequest(.post, "https://host.example/a?b=c").url)
    }

    @Test func `a transport digest with a user in the URL is refused`() {
        var request = UploadRequest(.post, "https://u:p@h.example/", content: .form([.text("a", "1")]))
        request.options = UploadOptions()
        request.options?.transfer.digest = DigestCredential(user: "clerk", password: .secret("p"))
        #expect(throws: UploadError.self) { try RequestPlan(request, UploadSession.Configuration()) }
    }
}
