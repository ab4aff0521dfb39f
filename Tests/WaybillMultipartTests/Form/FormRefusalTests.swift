import FoundationEssentials
import Testing
import WaybillCore
import WaybillMultipart

@Suite struct FormRefusalTests {
    func error(of part: MultipartPart, boundary: String = "golden") async throws -> BodyError? {
        let boundary = try MultipartBoundary(boundary)
        do {
            _ = try await MultipartForm([.text("first", "1"), part]).prepared(boundary: boundary)
            return nil
        } catch {
            #expect(error.partIndex == 1)
            #expect(error.part == part.name)
            #expect(error.message.hasPrefix("Part 2 ("))
            return error
        }
    }

    @Test func `a part without a name is refused`() async throws {
        #expect(try await error(of: .text("", "x"))?.code == .emptyFieldName)
    }

    @Test func `a NUL in a name or file name is refused`() async throws {
        #expect(try await error(of: .text("a\0b", "x"))?.code == .invalidFieldName)
        #expect(try await error(of: .data("a", [], fileName: "a\0b"))?.code == .invalidFileName)
    }

    @Test(arguments: ["a/b\r\nX: y", "a/b\n", "a\r", "a/b\0", "a/b\u{1B}", "a\u{7F}", "\t", ""])
    func `a control character in a content type is refused`(type: String) async throws {
        #expect(try await error(of: .data("a", [], contentType: type))?.code == .invalidContentType)
    }

    @Test(arguments: [
        ("X-A", "1\r\n2"), ("X-A", "1\n"), ("X-A", "\0"), ("X A", "1"), ("", "1"), ("X:", "1"),
        ("Content-Type", "a/b"), ("content-length", "3"), ("Content-Transfer-Encoding", "base64"),
    ])
    func `a header that breaks the grammar or the part is refused`(name: String, value: String) async throws {
        var part = MultipartPart.text("a", "b")
        part.headers = [MultipartHeader(name: name, value: value)]
        #expect(try await error(of: part)?.code == .invalidHeader)
    }

    @Test(arguments: ["", "a b", "a\"", "a/b", "a\r\n", "ä", String(repeating: "a", count: 71)])
    func `an invalid boundary is refused`(text: String) {
        #expect(throws: BodyError.self) { try MultipartBoundary(text) }
    }

    @Test(arguments: ["-", "a", "form-data", "-d", "Disposition: form-data; name="])
    func `a boundary that occurs in every part is refused immediately`(text: String) {
        let error = #expect(throws: BodyError.self) { try MultipartBoundary(quoted: text) }
        #expect(error?.code == .invalidBoundary)
    }

    @Test(arguments: [("a b:c", "\"a b:c\""), ("(x)=?/,", "\"(x)=?/,\""), ("plain-one", "plain-one")])
    func `a boundary that needs quotes is quoted on request`(text: String, parameter: String) async throws {
        let boundary = try MultipartBoundary(quoted: text)
        let body = try await MultipartForm([.text("n", "v")]).prepared(boundary: boundary)
        #expect(body.contentType == "multipart/form-data; boundary=\(parameter)")
        var names: [String] = []
        for try await part in try IncomingForm(body.chunks(ofSize: 10), contentType: try #require(body.contentType)) {
            names.append(part.name)
        }
        #expect(names == ["n"])
    }

    @Test(arguments: ["a ", "a\"b", "a\\b", "a;b", "", "ä"])
    func `a boundary with other characters is refused even with quotes`(text: String) {
        #expect(throws: BodyError.self) { try MultipartBoundary(quoted: text) }
    }

    @Test func `an empty name is allowed on request and parsed again`() async throws {
        var form = MultipartForm([.text("", "v")])
        #expect(try await error(of: .text("", "v"))?.code == .emptyFieldName)
        form.compatibility.allowsEmptyNames = true
        let body = try await form.prepared()
        var found: [(String, String)] = []
        for try await part in try IncomingForm(body.chunks(ofSize: 10), contentType: try #require(body.contentType)) {
            found.append((part.name, try await part.text()))
        }
        #expect(found.count == 1 && found[0] == ("", "v"))
    }

    @Test func `boundaries of 1 and of 70 characters are allowed`() throws {
        #expect(try MultipartBoundary("b").description == "b")
        #expect(try MultipartBoundary(String(repeating: "'+-._aZ", count: 10)).description.utf8.count == 70)
    }

    @Test func `a boundary that occurs in the form is refused`() async throws {
        #expect(try await error(of: .text("a", "see golden here"))?.code == .boundaryInContent)
        #expect(try await error(of: .data("a", Array("golden".utf8)))?.code == .boundaryInContent)
        #expect(try await error(of: .text("agolden", "x"))?.code == .boundaryInContent)
        #expect(try await error(of: .json("a", ["golden"]))?.code == .boundaryInContent)
        #expect(try await error(of: .text("a", "golde n")) == nil)
    }

    @Test func `header lines of 16 KiB pass, and one byte more is refused`() async throws {
        let fixed = "Content-Disposition: form-data; name=\"\"\r\n".utf8.count
        let longest = String(repeating: "n", count: 16_384 - fixed)
        #expect(try await error(of: .text(longest, "")) == nil)
        #expect(try await error(of: .text(longest + "n", ""))?.code == .headerTooLarge)
    }

    @Test func `a URL that is not a file is refused`() async throws {
        let url = try #require(URL(string: "https://example.com/a.jpg"))
        #expect(try await error(of: .file("a", url: url))?.code == .notARegularFile)
    }

    @Test func `a value that JSON cannot represent is refused with its cause`() async throws {
        let thrown = try await error(of: .json("a", [Double.nan]))
        #expect(thrown?.code == .encodingFailed)
        #expect(thrown?.cause is EncodingError)
        #expect(thrown?.message.lowercased().contains("nan") == true, "\(thrown?.message ?? "")")
    }

    @Test func `the reason of an encoding error never contains the value`() async throws {
        struct Login: Encodable {
            let password = "s3cret"
            func encode(to encoder: any Encoder) throws {
                throw EncodingError.invalidValue(self, .init(codingPath: [], debugDescription: "no login today"))
            }
        }
        let asJSON = try await error(of: .json("a", Login()))
        #expect(asJSON?.message == "Part 2 (\"a\"): The value cannot be encoded as JSON: no login today")
        let asFields = #expect(throws: BodyError.self) { try FormFieldEncoder().parts(of: Login()) }
        #expect(asFields?.message.contains("no login today") == true && asFields?.message.contains("s3cret") == false)
    }

    @Test func `a failed preparation has its cause, a cancelled one is a cancellation`() async throws {
        struct Broken: PartPreparing {
            struct Reason: Error {}
            func prepare() async throws -> PreparedPart { throw Reason() }
        }
        let thrown = try await error(of: .preparing("a", fileName: nil, contentType: nil, with: Broken()))
        #expect(thrown?.code == .preparationFailed)
        #expect(thrown?.cause is Broken.Reason)
        struct Cancelled: PartPreparing {
            func prepare() async throws -> PreparedPart { throw CancellationError() }
        }
        let form: MultipartForm = [.preparing("a", fileName: nil, contentType: nil, with: Cancelled())]
        #expect(await BodyError.Code.thrown { _ = try await form.prepared() } == .cancelled)
    }

    @Test func `random boundaries are long, valid and unique`() throws {
        let many = (0..<1_000).map { _ in MultipartBoundary.random() }
        #expect(Set(many).count == 1_000)
        for boundary in many.prefix(10) {
            #expect((27...70).contains(boundary.description.utf8.count))
            #expect(try MultipartBoundary(boundary.description) == boundary)
        }
    }
}

@Suite struct SecrecyTests {
    @Test func `a secret is sent but never printed`() async throws {
        let secret = "s3cr3t-do-not-print"
        var form: MultipartForm = [.text("TOKEN", .secret(secret)), .text("PLAIN", "plain-content")]
        let body = try await form.prepared()
        let sent = String(decoding: try await allBytes(of: body), as: UTF8.self)
        #expect(sent.contains(secret))
        var printed = ""
        let reader = try body.makeReader {}
        dump(form, to: &printed)
        dump(body, to: &printed)
        dump(reader, to: &printed)
        dump(body.chunks, to: &printed)
        reader.close()
        printed += "\(form) \(body) \(form.parts) \(String(reflecting: form)) \(String(reflecting: body))"
        form.append(.text("", .secret(secret)))
        do {
            _ = try await form.prepared()
            Issue.record("an empty name was accepted")
        } catch {
            dump(error, to: &printed)
            printed += "\(error) \(String(reflecting: error))"
        }
        let boundary = try MultipartBoundary(secret)
        form.parts.removeLast()
        do {
            _ = try await form.prepared(boundary: boundary)
            Issue.record("a boundary in the content was accepted")
        } catch {
            printed += "\(error) \(String(reflecting: error))"
        }
        #expect(!printed.contains(secret))
        #expect(!printed.contains("plain-content"))
        #expect(printed.contains(Secret.placeholder))
    }
}
