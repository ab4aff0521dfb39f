import Testing
import WaybillCore
import WaybillMultipart

/// Every limit permits exactly its value and refuses one more, however the body is split.
@Suite struct ParserLimitTests {
    static let disposition = "Content-Disposition: form-data; name=a\r\n"

    func part(_ content: String, headers: String = disposition) -> String { "--B\r\n\(headers)\r\n\(content)\r\n" }

    func code(_ body: String, _ change: (inout MultipartLimits) -> Void) -> String? {
        var limits = MultipartLimits()
        change(&limits)
        let bytes = Array(body.utf8)
        let whole = ParserRecord(bytes, cutAt: [], boundary: "B", limits: limits)
        let cuts = [Array(bytes.indices.dropFirst())] + bytes.indices.map { [$0] }
        for cut in cuts where bytes.count < 3_000 {
            #expect(ParserRecord(bytes, cutAt: cut, boundary: "B", limits: limits) == whole)
        }
        return whole.errorCode
    }

    @Test func `the number of parts is limited`() {
        #expect(code(part("1") + part("2") + "--B--") { $0.parts = 2 } == nil)
        #expect(code(part("1") + part("2") + part("3") + "--B--") { $0.parts = 2 } == "tooManyParts")
        let thousand = String(repeating: part(""), count: 1_000)
        #expect(code(thousand + "--B--") { _ in } == nil)
        #expect(code(thousand + part("") + "--B--") { _ in } == "tooManyParts")
    }

    @Test func `the size of headers is limited`() {
        let size = Self.disposition.utf8.count
        #expect(code(part("") + "--B--") { $0.headerBytes = size } == nil)
        #expect(code(part("") + "--B--") { $0.headerBytes = size - 1 } == "headerTooLarge")
        let long = Self.disposition + "X: " + String(repeating: "y", count: 200) + "\r\n"
        #expect(code(part("", headers: long) + "--B--") { $0.headerBytes = long.utf8.count } == nil)
        #expect(code(part("", headers: long) + "--B--") { $0.headerBytes = long.utf8.count - 1 } == "headerTooLarge")
        // A line without an end is refused at the limit, not at the end of the body.
        let endless = "--B\r\nX: " + String(repeating: "y", count: 17_000)
        #expect(code(endless) { _ in } == "headerTooLarge")
        #expect(code("--B\r\n" + Self.disposition + "\r\r\n") { $0.headerBytes = size } == "headerTooLarge")
    }

    @Test func `the number of header lines is limited`() {
        func lines(_ count: Int) -> String {
            part("", headers: Self.disposition + String(repeating: "X: y\r\n", count: count - 1)) + "--B--"
        }
        #expect(code(lines(32)) { _ in } == nil)
        #expect(code(lines(33)) { _ in } == "tooManyHeaderLines")
    }

    @Test func `the number of parameters is limited`() {
        func parameters(_ count: Int) -> String {
            let more = (1..<count).map { "; p\($0)=x" }.joined()
            return part("", headers: "Content-Disposition: form-data; name=a\(more)\r\n") + "--B--"
        }
        #expect(code(parameters(16)) { _ in } == nil)
        #expect(code(parameters(17)) { _ in } == "tooManyParameters")
    }

    @Test func `the size of the preamble is limited`() {
        let preamble = String(repeating: "p", count: 100)
        let form = part("") + "--B--"
        #expect(code("\(preamble)\r\n\(form)") { $0.preambleBytes = 100 } == nil)
        #expect(code("\(preamble)p\r\n--B--") { $0.preambleBytes = 100 } == "preambleTooLarge")
        #expect(code(String(repeating: "p", count: 65_536) + "\r\n\(form)") { _ in } == nil)
        #expect(code(String(repeating: "p", count: 65_537) + "\r\n--B--") { _ in } == "preambleTooLarge")
    }

    @Test func `the length of padding is limited`() {
        let blanks = String(repeating: " \t", count: 64)
        #expect(code("--B\(blanks)\r\n\(Self.disposition)\r\n\r\n--B--\(blanks)\r\n") { _ in } == nil)
        #expect(code("--B\(blanks) \r\n\(Self.disposition)\r\n\r\n--B--") { _ in } == "paddingTooLong")
        #expect(code("--B--\(blanks) \r\n") { _ in } == "paddingTooLong")
    }

    @Test func `the size of fields is limited, but not that of files`() {
        let content = String(repeating: "c", count: 50)
        #expect(code(part(content) + "--B--") { $0.fieldBytes = .bytes(50) } == nil)
        #expect(code(part(content + "\r") + "--B--") { $0.fieldBytes = .bytes(50) } == "fieldTooLarge")
        let file = "Content-Disposition: form-data; name=a; filename=b\r\n"
        #expect(code(part(content + "\r", headers: file) + "--B--") { $0.fieldBytes = .bytes(50) } == nil)
    }

    @Test func `the size of the whole body is limited`() {
        let body = part("12345") + "--B--\r\n"
        #expect(code(body) { $0.total = .bytes(Int64(body.utf8.count)) } == nil)
        for limit in 0..<body.utf8.count {
            #expect(code(body) { $0.total = .bytes(Int64(limit)) } == "bodyTooLarge", "limit \(limit)")
        }
    }
}
