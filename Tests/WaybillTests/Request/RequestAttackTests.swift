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

    @Test func `a digest of the transport beside a user in the URL is refused like one of the options`() {
        var request = UploadRequest(.post, "https://u:p@h.example/", content: .form([.text("a", "1")]))
        request.options = UploadOptions()
        request.options?.transfer.digest = DigestCredential(user: "a\r\nX: y", password: .secret("p"))
        #expect(throws: UploadError.self) { try RequestPlan(request, UploadSession.Configuration()) }
    }
}
