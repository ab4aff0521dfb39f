import Testing
import WaybillCore

@testable import Waybill

/// What is one character to Swift is several to everybody else: a mark behind a delimiter must not hide the delimiter.
@Suite struct CombiningMarkTests {
    @Test func `a mark behind a delimiter does not move the host`() throws {
        for url in ["http://good.example/\u{301}@evil.example/x", "http://good.example?\u{301}@evil.example/x"] {
            #expect(try RequestTarget(url).hostAndPort == "good.example:80")
        }
        #expect(try RequestTarget("http://good.example:81/\u{301}").hostAndPort == "good.example:81")
    }

    @Test(arguments: [
        "https://h/p?\u{301}sig=s3cret", "https://u:s3cret@\u{301}h/p", "https://u:s3cret@h/p#\u{301}x",
        "https://h/p#\u{301}?sig=s3cret", "u:s3cret@\u{301}h",
    ])
    func `a mark behind a delimiter shows no secret`(url: String) {
        #expect(!Redaction.url(url).contains("s3cret"))
    }

    @Test func `a secret with marks around it is found in a text`() {
        let secrets = Redaction.secrets(url: "https://h/p?\u{301}sig=s3cret&\u{301}b=t0ken", proxy: nil, headers: [:])
        #expect(secrets.contains("s3cret") && secrets.contains("t0ken"))
        #expect(!Redaction.scrub("the s3cret\u{301} of us", of: ["s3cret"]).contains("s3cret"))
    }

    @Test func `a mark behind a colon does not cut a user in two`() {
        #expect(throws: UploadError.self) {
            try Authentication.basic(user: "clerk:\u{301}x", password: .secret("pw")).fieldValue()
        }
    }
}
