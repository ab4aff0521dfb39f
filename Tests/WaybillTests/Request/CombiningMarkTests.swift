import Testing
import WaybillCore

@testable import Waybill

/// One character in Swift can be several scalars elsewhere: a combining mark after a delimiter must not hide the
/// delimiter.
@Suite struct CombiningMarkTests {
    @Test func `a combining mark after a delimiter does not move the host`() throws {
        for url in ["http://good.example/\u{301}@evil.example/x", "http://good.example?\u{301}@evil.example/x"] {
            #expect(try RequestTarget(url).hostAndPort == "good.example:80")
        }
        #expect(try RequestTarget("http://good.example:81/\u{301}").hostAndPort == "good.example:81")
    }

    @Test(arguments: [
        "https://h/p?\u{301}sig=s3cret", "https://u:s3cret@\u{301}h/p", "https://u:s3cret@h/p#\u{301}x",
        "https://h/p#\u{301}?sig=s3cret", "u:s3cret@\u{301}h",
    ])
    func `a combining mark after a delimiter shows no secret`(url: String) {
        #expect(!Redaction.url(url).contains("s3cret"))
    }

    @Test func `a secret with combining marks around it is redacted`() {
        let secrets = Redaction.secrets(url: "https://h/p?\u{301}sig=s3cret&\u{301}b=t0ken", proxy: nil, headers: [:])
        #expect(secrets.contains("s3cret") && secrets.contains("t0ken"))
        #expect(!Redaction.scrub("the s3cret\u{301} of us", of: ["s3cret"]).contains("s3cret"))
    }

    @Test func `a user name with a colon and a combining mark is refused`() {
        #expect(throws: UploadError.self) {
            try Authentication.basic(user: "clerk:\u{301}x", password: .secret("pw")).fieldValue()
        }
    }
}
