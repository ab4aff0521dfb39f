import HTTPTypes
import Testing
import WaybillCore
import WaybillMultipart

@testable import Waybill

/// A character for Swift is often several for everybody else.
@Suite struct RequestAttackTests {
    @Test func `a mark behind a slash does not move the host`() throws {
        #expect(
            (try? RequestTarget("http://good.example/\u{301}@evil.example/x").hostAndPort) ?? "good.example:80"
                == "good.example:80")
        #expect(
            (try? RequestTarget("http://good.example?\u{301}@evil.example/x").hostAndPort) ?? "good.example:80"
                == "good.example:80")
    }

    @Test func `a mark behind a question mark does not show the query`() {
        #expect(!Redaction.url("https://h/p?\u{301}sig=s3cret").contains("s3cret"))
        #expect(!Redaction.url("https://u:s3cret@\u{301}h/p").contains("s3cret"))
    }

    @Test func `a mark behind a colon does not cut a user in two`() {
        #expect(throws: UploadError.self) {
            try Authentication.basic(user: "clerk:\u{301}x", password: .secret("pw")).fieldValue()
        }
    }

    @Test(arguments: [
        Authentication.basic(user: "clerk", password: .secret("s3cret")),
        .digest(user: "clerk", password: .secret("s3cret")), .bearer(.secret("s3cret")),
    ])
    func `a curl command does not hide that there are credentials`(authentication: Authentication) {
        var request = UploadRequest(.post, "https://h.example/", content: .form([.text("a", "1")]))
        request.options = UploadOptions()
        request.options?.authentication = authentication
        let command = request.curlCommand
        #expect(!command.contains("s3cret"))
        #expect(command.contains("redacted") || command.hasPrefix("#"), "\(command)")
    }

    @Test func `a credential in a header of a part is redacted like one of the request`() {
        let form: MultipartForm = [.text("a", "1").header("Authorization", "Bearer s3cret")]
        #expect(!form.curlCommand(to: "https://h.example/").contains("s3cret"))
    }

    @Test(arguments: ["https://h.example/a{b,c}", "https://h.example/a[1-3]"])
    func `a curl command sends one request, whatever is in the URL`(url: String) {
        let command = ([.text("a", "1")] as MultipartForm).curlCommand(to: url)
        #expect(command.contains(" -g") || command.contains("--globoff"), "\(command)")
    }

    @Test func `an empty header field is in the curl command as curl wants it`() {
        var request = UploadRequest(.post, "https://h.example/", content: .form([.text("a", "1")]))
        request.headers[.accept] = ""
        #expect(request.curlCommand.contains("'Accept;'"), "\(request.curlCommand)")
    }

    @Test func `a digest of the transport beside a user in the URL is refused like one of the options`() {
        var request = UploadRequest(.post, "https://u:p@h.example/", content: .form([.text("a", "1")]))
        request.options = UploadOptions()
        request.options?.transfer.digest = DigestCredential(user: "a\r\nX: y", password: .secret("p"))
        #expect(throws: UploadError.self) { try RequestPlan(request, UploadSession.Configuration()) }
    }
}
