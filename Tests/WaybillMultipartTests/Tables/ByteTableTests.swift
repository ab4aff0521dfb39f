import TestSupport
import Testing
import WaybillMultipart

/// Compares the encoder with bytes written by hand.
@Suite struct ByteTableTests {
    @Test(arguments: TableForm.all)
    func `a form has exactly the bytes of the table`(table: TableForm) async throws {
        let folder = try TestSupport.TemporaryDirectory()
        let form = try MultipartForm(table, files: folder)
        let body = try await form.prepared(boundary: MultipartBoundary(TableForm.boundary))
        #expect(body.contentLength == Int64(table.body.count))
        for room in [65_536, 11] {
            let bytes = try await allBytes(of: body, room: room)
            #expect(bytes == table.body, "\(firstDifference(bytes, table.body))")
        }
    }

    @Test func `a name with a NUL is refused at any position`() async {
        for name in NameTable.refused {
            let field: MultipartForm = [.text(name, "")]
            #expect(await BodyError.Code.thrown { _ = try await field.prepared() } == .invalidFieldName)
            let file: MultipartForm = [.data("f", [], fileName: name)]
            #expect(await BodyError.Code.thrown { _ = try await file.prepared() } == .invalidFileName)
        }
    }

    /// Disables escaping in a copy of the encoder: exactly the affected tables must fail. `Scripts/mutate` does the
    /// same with a copy of the sources.
    @Test func `without escaping exactly the affected tables fail`() {
        let failing = TableForm.all.filter { Unescaped.encode($0.parts) != $0.body }.map(\.id)
        let expected = [
            "quote", "only quotes", "backslash and quote", "CR", "LF", "CRLF", "LF and CR", "a header put in",
            "a parameter put in", "a part put in",
        ].flatMap { ["name: \($0)", "file name: \($0)"] }
        #expect(failing == expected)
    }

    @Test func `the forms of the tables have unique names, and none is omitted`() {
        #expect(Set(TableForm.all.map(\.id)).count == TableForm.all.count)
        #expect(TableForm.all.count > 110)
    }

    private func firstDifference(_ bytes: [UInt8], _ expected: [UInt8]) -> String {
        let start = zip(bytes, expected).prefix { $0 == $1 }.count
        func piece(_ all: [UInt8]) -> String {
            String(decoding: all[max(0, min(start, all.count) - 20)..<min(all.count, start + 20)], as: UTF8.self)
        }
        return "from byte \(start): \(piece(bytes).debugDescription) instead of \(piece(expected).debugDescription)"
    }
}

/// An encoder that writes names without escaping, as many did.
enum Unescaped {
    static func encode(_ parts: [TablePart]) -> [UInt8] {
        var body: [UInt8] = []
        for part in parts {
            body += Array("--\(TableForm.boundary)\r\nContent-Disposition: form-data; name=\"".utf8) + part.read.name
            if let fileName = part.read.fileName { body += Array("\"; filename=\"".utf8) + fileName }
            body += Array("\"\r\n".utf8)
            if let type = part.read.contentType { body += Array("Content-Type: \(type)\r\n".utf8) }
            body += Array("\r\n".utf8) + part.read.content + Array("\r\n".utf8)
        }
        return body + Array("--\(TableForm.boundary)--\r\n".utf8)
    }
}
