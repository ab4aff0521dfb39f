import FoundationEssentials
import Testing

@testable import WaybillMultipart

@Suite struct ContentTypeTests {
    /// Returns the file name and content type that are sent.
    func sent(_ part: MultipartPart, _ change: (inout MultipartForm) -> Void = { _ in }) async throws -> [String?] {
        var form: MultipartForm = [part]
        change(&form)
        let body = try await form.prepared()
        let lines = body.preview().split(separator: "\n")
        let type = lines.first { $0.hasPrefix("Content-Type: ") }.map { String($0.dropFirst("Content-Type: ".count)) }
        return [body.parts[0].fileName, type]
    }

    @Test(arguments: [
        ("a.jpg", "image/jpeg"), ("A.JPEG", "image/jpeg"), ("a.tar.gz", "application/gzip"), ("a.heic", "image/heic"),
        ("a.opus", "audio/ogg"), ("a.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ("a", "application/octet-stream"), ("a.", "application/octet-stream"), ("jpg", "application/octet-stream"),
        ("x.jpg/a", "application/octet-stream"), (".jpg", "image/jpeg"), ("a.unheard", "application/octet-stream"),
    ])
    func `the extension determines the type`(name: String, type: String) async throws {
        #expect(try await sent(.data("f", [1], fileName: name)) == [name, type])
    }

    @Test func `the type of the part overrides the form's table, which overrides the standard table`() async throws {
        #expect(try await sent(.data("f", [1], fileName: "a.jpg", contentType: "x/y"))[1] == "x/y")
        #expect(try await sent(.data("f", [1], fileName: "a.DAT")) { $0.contentTypes["dat"] = "x/dat" }[1] == "x/dat")
        #expect(try await sent(.data("f", [1], fileName: "a.jpg")) { $0.contentTypes["jpg"] = "x/z" }[1] == "x/z")
        #expect(
            try await sent(.data("f", [1], fileName: "a.jpg")) { $0.contentTypes = ["Png": "p/n"] }[1]
                == ContentTypeTable.unknown)
    }

    @Test func `the table of the machine is read, and a missing one is an error`() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.file(
            "mime.types", Array("# types\nx/new\tnew NEWER # both\nx/none\nimage/jpeg jpg\n".utf8))
        let table = try ContentTypeTable.systemTable(path: path)
        #expect(table["newer"] == "x/new" && table["NEW"] == "x/new" && table["jpg"] == "image/jpeg")
        #expect(table["png"] == "image/png", "the standard table is behind it")
        #expect(throws: BodyError.self) { try ContentTypeTable.systemTable(path: directory.path + "/none") }
    }

    static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 16]
    static let zip: [UInt8] = Array("PK\u{3}\u{4}".utf8) + [0, 0]

    @Test(
        arguments: [
            ("front.png", jpeg, "front.jpg", "image/jpeg"), ("front.JPEG", jpeg, "front.JPEG", "image/jpeg"),
            ("front", jpeg, "front.jpg", "image/jpeg"), ("scan.2024", jpeg, "scan.2024.jpg", "image/jpeg"),
            ("a.docx", zip, "a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
            ("a.jpg", zip, "a.zip", "application/zip"), ("a.csv", Array("a,b".utf8), "a.csv", "text/csv"),
            ("a.jpg", [], "a.jpg", "image/jpeg"),
        ] as [(String, [UInt8], String, String)])
    func `followingContent derives type and extension`(name: String, bytes: [UInt8], newName: String, type: String)
        async throws
    {
        #expect(try await sent(.data("f", bytes, fileName: name).followingContent()) == [newName, type])
        let directory = try TemporaryDirectory()
        let path = try directory.file("file", bytes)
        #expect(try await sent(.file("f", path: path, fileName: name).followingContent()) == [newName, type])
    }

    @Test func `followingContent overrides an explicit type only if it differs`() async throws {
        let part = MultipartPart.data("f", Self.jpeg, fileName: "a.png", contentType: "image/png")
        #expect(try await sent(part) == ["a.png", "image/png"])
        #expect(try await sent(part.followingContent()) == ["a.jpg", "image/jpeg"])
        let charset = MultipartPart.data("f", Self.jpeg, fileName: "a.jpg", contentType: "image/jpeg; q=1")
        #expect(try await sent(charset.followingContent()) == ["a.jpg", "image/jpeg; q=1"])
    }

    @Test func `followingContent inspects prepared content`() async throws {
        struct Shrunk: PartPreparing {
            func prepare() async throws -> PreparedPart { PreparedPart(content: .bytes(ContentTypeTests.jpeg)) }
        }
        let part = MultipartPart.preparing("f", fileName: "front.png", with: Shrunk())
        #expect(try await sent(part.followingContent()) == ["front.jpg", "image/jpeg"])
    }

    @Test func `a date names data according to the given time zone`() async throws {
        let moment = Date(timeIntervalSince1970: 1_795_271_990)  // 2026-11-21 14:39:50 UTC
        let utc = try #require(TimeZone(secondsFromGMT: 0))
        let china = try #require(TimeZone(secondsFromGMT: 8 * 3_600))
        #expect(
            try await sent(.data("f", Self.jpeg, named: moment, in: utc)) == ["20261121143950.jpg", "image/jpeg"])
        #expect(
            try await sent(.data("f", [1], named: moment, in: china, contentType: "image/png"))
                == ["20261121223950.png", "image/png"])
        #expect(
            try await sent(.data("f", Self.zip, named: moment, in: utc, contentType: "text/csv"))[0]
                == "20261121143950.csv")
        #expect(try await sent(.data("f", [1], named: moment, in: utc))[0] == "20261121143950.dat")
        let early = Date(timeIntervalSince1970: 0)
        #expect(MultipartPart.digits(of: early, in: utc) == "19700101000000")
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan, 1e300, -1e300, 1e18])
    func `a name from a date out of range is still a valid name`(seconds: Double) async throws {
        let utc = try #require(TimeZone(secondsFromGMT: 0))
        let moment = Date(timeIntervalSince1970: seconds)
        let name = try #require(try await sent(.data("f", [1], named: moment, in: utc))[0])
        #expect(name.hasSuffix(".dat") && name.utf8.count >= "yyyyMMddHHmmss.dat".utf8.count, "\(name)")
    }

    @Test func `every detectable type has an extension with a type of the same container`() {
        for type in MagicBytes.types {
            let fileExtension = MagicBytes.fileExtension(for: type) ?? ContentTypeTable.standardExtension(for: type)
            guard type != "application/x-ole-storage" else { continue }
            #expect(fileExtension != nil, "\(type)")
            let found = fileExtension.flatMap { ContentTypeTable.standard[$0] }
            #expect(found.map { MagicBytes.sharesContainer($0, with: type) } == true, "\(type) \(fileExtension ?? "")")
        }
    }
}
