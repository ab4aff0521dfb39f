import HTTPTypes
import Testing
import WaybillCore

@testable import Waybill

@Suite struct RedactionTests {
    @Test(arguments: [
        ("https://host.example/path", "https://host.example/path"),
        ("https://u:p@host.example/path?a=b#c", "https://<redacted>@host.example/path?<redacted>"),
        ("https://u@h@host.example/", "https://<redacted>@host.example/"),
        ("https://host.example?sig=x", "https://host.example?<redacted>"),
        ("https://host.example/u@x", "https://host.example/u@x"),
        ("https://host.example/#t=x", "https://host.example/"),
        ("http://host.example/\u{1B}[2J", "http://host.example/\\u{1b}[2J"),
    ])
    func `a URL is printed without user, password, query and fragment`(url: String, printed: String) {
        #expect(Redaction.url(url) == printed)
    }

    @Test func `printed requests and configurations show no credential`() {
        var request = UploadRequest(.put, "https://u:s3cr3t@host.example/x?signature=s3cr3t")
        request.headers = [.authorization: "Bearer s3cr3t", .accept: "text/plain"]
        request.headers.append(HTTPField(name: HTTPField.Name("X-Api-Key")!, value: "s3cr3t"))
        var dumped = ""
        dump(request, to: &dumped)
        var configuration = UploadSession.Configuration()
        configuration.headers = request.headers
        configuration.options.transfer.proxy = "http://u:s3cr3t@proxy.example"
        dump(configuration, to: &dumped)
        let transfer = TransferRequest(method: .put, url: request.url, headers: request.headers)
        dump(transfer, to: &dumped)
        let texts = [
            "\(request)", String(reflecting: request), dumped, "\(configuration)", String(reflecting: configuration),
            "\(transfer)", String(reflecting: transfer), "\(configuration.options)",
        ]
        for text in texts { #expect(!text.contains("s3cr3t"), "\(text)") }
        #expect(String(reflecting: request).contains("Accept: text/plain"))
        #expect("\(request)" == "PUT https://<redacted>@host.example/x?<redacted> (empty)")
    }

    @Test func `secrets in texts of a transport are redacted`() {
        let secrets = Redaction.secrets(
            url: "https://user:pa55word@host.example/?sign=abcdef&e=1", proxy: "http://me:pr0xypw@proxy.example",
            headers: [.authorization: "Bearer t0ken", .accept: "text/plain"])
        let text = Redaction.scrub(
            "user:pa55word t0ken abcdef sign=abcdef&e=1 pr0xypw text/plain host.example", of: secrets)
        #expect(
            text == "<redacted> <redacted> <redacted> <redacted> <redacted> text/plain host.example")
    }

    @Test func `control characters in foreign text are escaped`() {
        let escaped = Redaction.escaped("a\u{1B}[31mb\r\n\u{202E}c\u{2028}é中")
        #expect(escaped == "a\\u{1b}[31mb\\u{d}\\u{a}\\u{202e}c\\u{2028}é中")
    }
}
