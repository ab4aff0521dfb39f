import HTTPTypes
import Testing
import Waybill

@testable import WaybillCLI

@Suite struct ArgumentTests {
    @Test(arguments: [("100KB", 100_000), ("100KiB", 102_400), ("100K", 102_400), ("1.5M", 1_572_864), ("7", 7)])
    func `sizes have decimal and binary units`(_ text: String, _ bytes: Int64) throws {
        #expect(try SizeArgument.size(text, for: "--x").bytes == bytes)
    }

    @Test(arguments: ["", "0", "-1", "100 KiB", "KiB", "1e5", "100XB", "1.2.3", "inf"])
    func `an invalid size is refused`(_ text: String) {
        #expect(throws: CommandFailure.self) { try SizeArgument.size(text, for: "--x") }
    }

    @Test(arguments: [("2.4MP", 2_400_000), ("640x480", 307_200), ("1000", 1_000), ("1mp", 1_000_000)])
    func `pixels are megapixels, dimensions or a number`(_ text: String, _ pixels: Int) throws {
        #expect(try SizeArgument.pixels(text, for: "--x") == pixels)
    }

    @Test(arguments: ["", "0", "MP", "x", "640x", "x480", "-1x-1", "0x10", "1e3MP", "9999999x9999999"])
    func `an invalid number of pixels is refused`(_ text: String) {
        #expect(throws: CommandFailure.self) { try SizeArgument.pixels(text, for: "--x") }
    }

    @Test func `seconds may have a fraction, and zero disables the limit`() throws {
        #expect(try SizeArgument.seconds("2.5", for: "-m") == .milliseconds(2_500))
        #expect(try SizeArgument.seconds("30", for: "-m") == .seconds(30))
        #expect(try SizeArgument.seconds("0.0001", for: "-m") == .milliseconds(1))
        #expect(try SizeArgument.seconds("0", for: "-m") == nil)
        for text in ["", ".", "-1", "1e3", "0x10", "nan", "1s"] {
            #expect(throws: CommandFailure.self) { try SizeArgument.seconds(text, for: "-m") }
        }
    }

    @Test func `qualities range from 1 to 100`() throws {
        #expect(try SizeArgument.quality("1", for: "-q") == 1)
        #expect(try SizeArgument.quality("100", for: "-q") == 100)
        for text in ["0", "101", "+5", "5.5", ""] {
            #expect(throws: CommandFailure.self) { try SizeArgument.quality(text, for: "-q") }
        }
    }

    @Test func `an image setting applies to the named part or to all images`() throws {
        let settings = try ImageSettings(
            maxBytes: ["100K", "a=b=50K", "front=1K", "front=2K"], quality: ["front=60"])
        #expect(settings.options(forPart: "other", isJPEG: true) == .maxBytes(.kibibytes(100)))
        #expect(settings.options(forPart: "other", isJPEG: false) == nil)
        #expect(settings.options(forPart: "a=b", isJPEG: false) == .maxBytes(.kibibytes(50)))
        #expect(settings.options(forPart: "front", isJPEG: true) == JPEGOptions(maxBytes: .kibibytes(2), quality: 60))
    }

    @Test func `an image setting that applies to no part is refused`() throws {
        let named = try ImageSettings(maxBytes: ["fornt=100K"], quality: [])
        #expect(throws: CommandFailure.self) { try named.checkUse(by: [("front", true)]) }
        let plain = try ImageSettings(maxBytes: [], quality: ["50"])
        #expect(throws: CommandFailure.self) { try plain.checkUse(by: [("notes", false)]) }
        try plain.checkUse(by: [("notes", false), ("front", true)])
    }

    @Test func `header lines are parsed as by curl`() throws {
        #expect(try HeaderArgument("X-A: b: c ") == .field(HTTPField(name: HTTPField.Name("X-A")!, value: "b: c")))
        #expect(try HeaderArgument("X-A;") == .field(HTTPField(name: HTTPField.Name("X-A")!, value: "")))
        #expect(try HeaderArgument("X-A:") == .removal(HTTPField.Name("X-A")!))
        for line in ["", "X-A", ": v", "X A: v", "X-A;v", "X-A: a\u{1}b"] {
            #expect(throws: CommandFailure.self) { try HeaderArgument(line) }
        }
        #expect(HeaderArgument.lines(of: Array("A: 1\r\n\n B: 2\n".utf8)) == ["A: 1", " B: 2"])
    }

    @Test func `Expect and User-Agent can be removed, headers that frame the message cannot`() throws {
        var fields = PostFields()
        try fields.add("Expect:")
        #expect(fields.expectContinue == .never)
        try fields.add("Expect: 100-Continue")
        #expect(fields.expectContinue == .above(.bytes(0)))
        try fields.add("User-Agent:")
        #expect(fields.omitsUserAgent && fields.headers.isEmpty)
        for line in ["Host:", "Content-Type:", "Expect: dinner"] {
            #expect(throws: CommandFailure.self) { try fields.add(line) }
        }
    }

    @Test func `credentials become Basic authentication unless a header overrides them`() throws {
        var fields = PostFields()
        try fields.addCredentials("Aladdin:open sesame")
        #expect(fields.headers[.authorization] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(fields.secrets.contains("open sesame"))
        var own = PostFields()
        try own.add("Authorization: Bearer t0k3n")
        try own.addCredentials("a:b")
        #expect(own.headers[.authorization] == "Bearer t0k3n")
        #expect(throws: CommandFailure.self) { try own.addCredentials("nobody") }
    }

    @Test func `the name of a shrunk image is derived from the original`() {
        #expect(OutputPattern.defaultPath(for: "card.jpg") == "card-waybill.jpg")
        #expect(OutputPattern.defaultPath(for: "a.b/card.jpeg") == "a.b/card-waybill.jpg")
        #expect(OutputPattern.defaultPath(for: "a.b/card") == "a.b/card-waybill.jpg")
        #expect(OutputPattern.defaultPath(for: "/.hidden") == "/.hidden-waybill.jpg")
    }
}
