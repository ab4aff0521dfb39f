import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillMultipart
import WaybillTesting

@testable import Waybill

@Suite struct ParameterSignerTests {
    /// Returns the text that would be hashed.
    private func plain() -> ParameterSigner {
        ParameterSigner { $0 }
    }

    private func canonical(
        _ parameters: [(name: String, value: String)], _ configure: (inout ParameterSigner) -> Void = { _ in }
    ) -> String {
        var signer = plain()
        configure(&signer)
        return String(decoding: signer.canonicalText(of: parameters), as: UTF8.self)
    }

    @Test func `parameters are sorted by the bytes of their names and joined`() {
        let parameters = [
            ("b", "2"), ("B", "1"), ("a10", "x"), ("a", "y"), ("a1", "z"), ("名", "值"), ("b", "1"), ("e", ""),
        ]
        #expect(canonical(parameters) == "B=1&a=y&a1=z&a10=x&b=1&b=2&名=值")
        #expect(
            canonical(parameters) { ($0.order, $0.skipsEmpty) = (.asGiven, false) }
                == "b=2&B=1&a10=x&a=y&a1=z&名=值&b=1&e=")
        #expect(
            canonical(parameters) { ($0.equals, $0.separator, $0.excluded) = ("", "", ["b", "B", "名"]) } == "aya1za10x")
    }

    @Test func `names and values are encoded as configured`() {
        let parameters = [("a b", "*~+/张")]
        #expect(canonical(parameters) == "a b=*~+/张")
        #expect(canonical(parameters) { $0.encoding = .percent } == "a%20b=%2A~%2B%2F%E5%BC%A0")
        #expect(canonical(parameters) { $0.encoding = .webForm } == "a+b=*%7E%2B%2F%E5%BC%A0")
    }

    @Test func `prefix, suffix and output format of a signature are configurable`() {
        var signer = ParameterSigner { _ in [0x00, 0xFB, 0xFF, 0x7E] as [UInt8] }
        #expect(signer.signature(of: [("a", "1")]) == "00fbff7e")
        signer.output = .hexadecimalCapitals
        #expect(signer.signature(of: [("a", "1")]) == "00FBFF7E")
        signer.output = .base64
        #expect(signer.signature(of: [("a", "1")]) == "APv/fg==")
        signer.output = .base64URL
        #expect(signer.signature(of: [("a", "1")]) == "APv_fg")
        #expect(canonical([("a", "1")]) { ($0.prefix, $0.suffix) = (.secret("S"), .secret("&key=S")) } == "Sa=1&key=S")
    }

    @Test func `a signer prints no secret`() {
        var signer = plain()
        signer.prefix = .secret("s3cret")
        signer.suffix = .secret("s3cret")
        var dumped = ""
        dump(signer, to: &dumped)
        #expect(!"\(signer) \(String(reflecting: signer)) \(dumped)".contains("s3cret"))
    }

    @Test func `a form is signed over its plain fields as sent`() async throws {
        var form: MultipartForm = [
            .text("b", "line\nbreak"), .text("TOKEN", .secret("t")), .json("j", [1]), .data("f", [1], fileName: "x"),
            .text("sign", "old"), .text("a", "1"),
        ]
        form.sign(with: plain(), field: "sign")
        let transport = ScriptedTransport(.responding(.ok))
        _ = try await UploadSession(transport: transport).upload(form, to: SessionWorld.url)
        let sent = try transport.transfers[0].form()
        #expect(sent.names == ["b", "TOKEN", "j", "f", "a", "sign"])
        #expect(try sent.text("b") == "line\r\nbreak")
        let hexadecimal = "TOKEN=t&a=1&b=line\r\nbreak".utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            .joined()
        #expect(try sent.text("sign") == hexadecimal)
    }

    @Test func `a session signs its common fields too`() async throws {
        var signer = plain()
        signer.output = .base64
        let (session, transport, _) = SessionWorld.intercepted([.signingForms(with: signer, field: "sign")]) {
            $0.commonFields = [.text("timestamp", "5")]
        }
        _ = try await session.upload([.text("a", "1")], to: SessionWorld.url)
        #expect(try transport.transfers[0].form().names == ["timestamp", "a", "sign"])
        #expect(try transport.transfers[0].form().text("sign") == Base64Text.standard(Array("a=1&timestamp=5".utf8)))
    }

    @Test func `a query is signed in decoded form, for each attempt`() async throws {
        var signer = plain()
        signer.output = .base64URL
        let (session, transport, _) = SessionWorld.intercepted(
            [.signingQueries(with: signer, parameter: "sign")], [.responding(.serviceUnavailable), .responding(.ok)],
            retry: RetryPolicy(maxRetries: 1, baseDelay: .zero))
        _ = try await session.upload(.data([1]), to: SessionWorld.url + "?b=%20x+y&sign=old&a=张&c")
        let expected = Base64Text.forURL(Array("a=张&b= x y".utf8))
        #expect(
            transport.transfers.map(\.request.url)
                == Array(repeating: SessionWorld.url + "?b=%20x+y&a=%E5%BC%A0&c&sign=\(expected)", count: 2))
    }
}
