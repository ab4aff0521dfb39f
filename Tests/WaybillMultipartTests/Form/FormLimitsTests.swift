import TestSupport
import Testing

@testable import WaybillMultipart

@Suite(.timeLimit(.minutes(Slowness.factor))) struct FormLimitsTests {
    static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 0, count: 996)

    /// Returns the error of the check. Preparing with the same limits must agree.
    func verdict(_ form: MultipartForm, _ limits: FormLimits) async throws -> BodyError? {
        var limited = form
        limited.limits = limits
        let checked: BodyError?
        do {
            try await form.check(against: limits)
            checked = nil
        } catch {
            checked = error
        }
        do {
            _ = try await limited.prepared()
            #expect(checked == nil)
        } catch {
            #expect(error.code == checked?.code && error.part == checked?.part)
        }
        return checked
    }

    @Test func `a part at its limit passes, and one byte more is refused with its name`() async throws {
        let form: MultipartForm = [.text("a", "x"), .data("FILE", Self.jpeg)]
        #expect(try await verdict(form, FormLimits(maxPartBytes: .bytes(1_000))) == nil)
        let error = try await verdict(form, FormLimits(maxPartBytes: .bytes(999)))
        #expect(error?.code == .partTooLarge && error?.part == "FILE" && error?.partIndex == 1)
        #expect(error?.message.contains("1000 bytes; the limit is 999") == true)
    }

    @Test func `a file is measured without being read`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.sparse("large.bin", 5 << 30)
        let form: MultipartForm = [.file("FILE", path: path)]
        #expect(try await verdict(form, FormLimits(maxPartBytes: .gibibytes(5))) == nil)
        #expect(try await verdict(form, FormLimits(maxPartBytes: .gibibytes(4)))?.code == .partTooLarge)
    }

    @Test func `the total is counted to the byte, including headers and boundaries`() async throws {
        let form: MultipartForm = [.text("a", "x\ny"), .data("FILE", Self.jpeg, fileName: "身.jpg"), .json("j", [1])]
        let total = try #require(try await form.prepared().contentLength)
        #expect(try await verdict(form, FormLimits(maxTotalBytes: .bytes(total))) == nil)
        let error = try await verdict(form, FormLimits(maxTotalBytes: .bytes(total - 1)))
        #expect(error?.code == .formTooLarge)
    }

    @Test func `the number of parts is limited`() async throws {
        let form: MultipartForm = [.text("a", "1"), .text("a", "2")]
        #expect(try await verdict(form, FormLimits(maxParts: 2)) == nil)
        #expect(try await verdict(form, FormLimits(maxParts: 1))?.code == .tooManyParts)
    }

    @Test func `the first bytes determine the type, not the name or the declared type`() async throws {
        let pictures = FormLimits(allowedTypes: ["image/jpeg", "image/png"])
        #expect(try await verdict([.text("a", "x"), .data("f", Self.jpeg, fileName: "a.png")], pictures) == nil)
        let program: MultipartForm = [
            .data("f", Array("\u{7F}ELF".utf8), fileName: "card.jpg", contentType: "image/jpeg")
        ]
        let error = try await verdict(program, pictures)
        #expect(error?.code == .typeNotAllowed && error?.part == "f")
        let pdf = try await verdict([.data("f", Array("%PDF-1.7".utf8), fileName: "a.jpg")], pictures)
        #expect(pdf?.message.contains("is application/pdf") == true)
        #expect(try await verdict([.data("f", [], fileName: "a.jpg")], pictures)?.code == .typeNotAllowed)
    }

    @Test func `types without a signature are accepted unless another signature is found`() async throws {
        let csv = FormLimits(allowedTypes: ["text/csv"])
        #expect(try await verdict([.data("f", Array("a,b".utf8), fileName: "a.csv")], csv) == nil)
        #expect(try await verdict([.data("f", Array("a,b".utf8), fileName: "a.txt")], csv)?.code == .typeNotAllowed)
        #expect(try await verdict([.data("f", Self.jpeg, fileName: "a.csv")], csv)?.code == .typeNotAllowed)
        let words = FormLimits(
            allowedTypes: ["application/vnd.openxmlformats-officedocument.wordprocessingml.document"])
        #expect(try await verdict([.data("f", Array("PK\u{3}\u{4}".utf8), fileName: "a.docx")], words) == nil)
    }

    @Test func `a negative stream length is refused by the check`() async throws {
        let form: MultipartForm = [.text("a", "1"), .stream("s", CountedStream(chunks: []), length: -1)]
        let error = try await verdict(form, FormLimits())
        #expect(error?.code == .unknownLength && error?.part == "s")
    }

    @Test func `a check neither reads a stream nor prepares an image`() async throws {
        struct Never: PartPreparing {
            func prepare() async throws -> PreparedPart {
                Issue.record("it was made")
                return PreparedPart(content: .bytes([]))
            }
        }
        let stream = CountedStream(chunks: [[1, 2, 3]])
        let form: MultipartForm = [
            .stream("s", stream, length: nil), .stream("t", stream, length: 10), .preparing("p", with: Never()),
        ]
        try await form.check(against: FormLimits(maxPartBytes: .bytes(10), maxTotalBytes: .bytes(1_000)))
        #expect(stream.asked.value == 0)
        let code = await BodyError.Code.thrown { try await form.check(against: FormLimits(maxPartBytes: .bytes(9))) }
        #expect(code == .partTooLarge)
    }

    @Test func `limits apply to prepared and streamed content, and unknown sizes are refused`() async throws {
        struct Large: PartPreparing {
            func prepare() async throws -> PreparedPart { PreparedPart(content: .bytes(FormLimitsTests.jpeg)) }
        }
        var made: MultipartForm = [.preparing("p", with: Large())]
        made.limits = FormLimits(maxPartBytes: .bytes(999))
        #expect(await BodyError.Code.thrown { _ = try await made.prepared() } == .partTooLarge)
        var read: MultipartForm = [.stream("s", CountedStream(chunks: [Self.jpeg]), length: nil, fileName: "a.jpg")]
        read.limits = FormLimits(maxPartBytes: .bytes(1_000), allowedTypes: ["image/jpeg"])
        _ = try await read.prepared()
        read.unknownLength = .chunked
        #expect(await BodyError.Code.thrown { _ = try await read.prepared() } == .unknownLength)
        var live: MultipartForm = [.stream("s", CountedStream(chunks: [Self.jpeg]), length: 1_000, fileName: "a.jpg")]
        live.limits = FormLimits(allowedTypes: ["image/jpeg"])
        #expect(await BodyError.Code.thrown { _ = try await live.prepared() } == .typeNotAllowed)
    }
}
