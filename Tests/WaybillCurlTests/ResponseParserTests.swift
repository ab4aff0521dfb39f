import TestSupport
import Testing
import WaybillCore

@testable import WaybillCurl

/// The seed of the random cuts.
private let cutSeed = SeededGenerator().seed

/// Parses a response whole, byte by byte, at every cut into two and at random cuts. Expects the same result each time,
/// and from the second implementation.
func parsed(
    _ response: String, _ options: ResponseOptions = .init(), sourceLocation: SourceLocation = #_sourceLocation
) -> ResponseRecord {
    parsed(Array(response.utf8), options, sourceLocation: sourceLocation)
}

func parsed(
    _ response: [UInt8], _ options: ResponseOptions = .init(), sourceLocation: SourceLocation = #_sourceLocation
) -> ResponseRecord {
    let whole = ResponseRecord(response, options)
    // Cut a long response mainly near its ends.
    let positions = response.indices.filter {
        response.count < 500 || $0 < 60 || $0 > response.count - 20 || $0 % 512 == 0
    }
    var random = SeededGenerator(seed: cutSeed)
    let several = (0..<4).map { _ in
        response.indices.filter { _ in Int.random(in: 0..<response.count, using: &random) < 5 }
    }
    for cuts in positions.map({ [$0] }) + several + [Array(response.indices), [0, 0, response.count]] {
        let record = ResponseRecord(response, cutAt: cuts, options)
        #expect(record == whole, "cut at \(cuts), WAYBILL_SEED=\(cutSeed)", sourceLocation: sourceLocation)
        if record != whole { break }
    }
    let expected = NaiveResponse.record(of: response, options)
    #expect(whole == expected, "the second implementation differs", sourceLocation: sourceLocation)
    return whole
}

@Suite struct ResponseParserTests {
    // MARK: - Head

    @Test func `a response has a version, a status and fields in their order`() {
        let record = parsed("HTTP/1.1 201 Created\r\nB: 2\r\na:1\r\nB:  \t3 \t\r\nEmpty:\r\nContent-Length: 0\r\n\r\n")
        #expect(record.version == "HTTP/1.1" && record.status == 201 && record.isComplete && record.allowsReuse)
        #expect(record.fields == ["B: 2", "a: 1", "B: 3", "Empty: ", "Content-Length: 0"])
    }

    @Test(arguments: [
        "HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.1 200 All: is \u{E9}well", "HTTP/1.0 999 x", "HTTP/1.1 600",
    ])
    func `a status line may have any code from 100 and any reason`(line: String) {
        let record = parsed(line + "\r\nContent-Length: 1\r\n\r\n.")
        #expect(record.isComplete && record.body == [0x2E] && record.status ?? 0 >= 200)
    }

    @Test func `lines of a head may end with only a line feed`() {
        let record = parsed("HTTP/1.1 200 OK\nA: 1\r\nContent-Length: 2\n\nhi")
        #expect(record.isComplete && record.allowsReuse && record.fields == ["A: 1", "Content-Length: 2"])
    }

    @Test(arguments: [
        "no colon", "bad name: 1", ": 1", "a\u{E9}: 1", "HTTP/1.1 404 Not Found", "A: \u{1}", "A: \u{7F}",
    ])
    func `an invalid line of a head is ignored`(line: String) {
        let record = parsed("HTTP/1.1 200 OK\r\n\(line)\r\nContent-Length: 0\r\n\r\n")
        #expect(record.status == 200 && record.allowsReuse && record.fields == ["Content-Length: 0"])
    }

    @Test(arguments: ["A: 1\r\n folded", "A: 1\r\n\tContent-Length: 9\r\n Transfer-Encoding: chunked", " first"])
    func `a folded line after another field is ignored`(lines: String) {
        let record = parsed("HTTP/1.1 200 OK\r\n\(lines)\r\nContent-Length: 0\r\n\r\n")
        #expect(record.allowsReuse && record.fields.last == "Content-Length: 0" && record.fields.count <= 2)
    }

    @Test func `bytes that are not UTF-8 are replaced in a value`() {
        let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: x".utf8)
        let record = parsed(head + [0xFF, 0x80] + Array("\r\n\r\n".utf8))
        #expect(record.fields.last == "A: x\u{FFFD}\u{FFFD}" && record.allowsReuse)
    }

    // MARK: - Interim responses

    @Test(arguments: [
        "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100\n\n", "HTTP/1.1 102 Processing\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 103 \r\nA: 1\r\n\r\n",
        "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
    ])
    func `interim responses do not change the final response`(interim: String) {
        let final = "HTTP/1.1 201 Created\r\nB: 2\r\nContent-Length: 2\r\n\r\nhi"
        var record = parsed(interim + final)
        #expect(record.sawContinue == interim.contains(" 100"))
        record.sawContinue = false
        #expect(record == parsed(final))
        let open = parsed(interim)
        #expect(open.status == nil && !open.isCompleteAtEnd && open.isUntouched)
        #expect(!parsed(interim + "H").isUntouched)
    }

    @Test func `a parser without input is untouched`() {
        let record = parsed("")
        #expect(record.isUntouched && !record.isComplete && !record.isCompleteAtEnd && record.version == nil)
    }

    // MARK: - Bodies without chunks

    @Test(arguments: ["5", " 05 ", "5, 5", "5\r\ncontent-LENGTH: 5", "\t5,05"])
    func `a body has the length that the head announces`(length: String) {
        let head = "HTTP/1.1 200 OK\r\nContent-Length:\(length)\r\n\r\n"
        let record = parsed(head + "hel\0\n")
        #expect(record.body == Array("hel\0\n".utf8) && record.isComplete && record.allowsReuse && !record.hasExcess)
        #expect(!parsed(head + "hell").isCompleteAtEnd)
    }

    @Test(arguments: ["", "Transfer-Encoding: identity\r\n", "Transfer-Encoding: ,\r\n", "Connection: keep-alive\r\n"])
    func `a body without a length ends with the connection`(field: String) {
        for version in ["HTTP/1.1", "HTTP/1.0"] {
            let record = parsed("\(version) 200 OK\r\n\(field)\r\nany\r\n\r\nbytes")
            #expect(record.body == Array("any\r\n\r\nbytes".utf8))
            #expect(!record.isComplete && record.isCompleteAtEnd && !record.allowsReuse && !record.hasExcess)
        }
    }

    @Test func `a body that ended with the connection does not allow reuse`() throws {
        var parser = ResponseParser(limits: TransferLimits())
        let response = Array("HTTP/1.1 200 OK\r\n\r\n".utf8)
        try unsafe response.withUnsafeBytes { try unsafe parser.receive($0) }
        #expect(!parser.isComplete && parser.byteCount == 19 && parser.version == "HTTP/1.1")
        #expect(parser.receiveEnd() && parser.isComplete && !parser.allowsReuse)
    }

    @Test(arguments: ["Content-Length: 5", "Transfer-Encoding: chunked", "A: 1"])
    func `a response to HEAD and a 304 have no body`(field: String) {
        let record = parsed("HTTP/1.1 200 OK\r\n\(field)\r\n\r\n", .head)
        #expect(record.isComplete && record.allowsReuse && record.body.isEmpty)
        let unchanged = parsed("HTTP/1.1 304 Not Modified\r\n\(field)\r\n\r\n")
        #expect(unchanged.isComplete && unchanged.allowsReuse && unchanged.body.isEmpty)
    }

    @Test(arguments: [
        ("", true), ("Content-Length: 0\r\n", true), ("Content-Length: 5\r\n", false),
        ("Transfer-Encoding: chunked\r\n", false),
    ])
    func `a 204 has no body, and allows reuse unless it announces one`(field: String, allowsReuse: Bool) {
        let record = parsed("HTTP/1.1 204 No Content\r\n\(field)\r\n")
        #expect(record.isComplete && record.body.isEmpty && record.allowsReuse == allowsReuse)
    }

    // MARK: - Chunks

    @Test(arguments: [
        ("5\r\nhello\r\n0\r\n\r\n", "hello"), ("0\r\n\r\n", ""), ("000\r\n\r\n", ""),
        ("a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n", "01234567890123456789a"),
        ("0000000000000000000000005\r\nhello\r\n0\r\n\r\n", "hello"), ("5;a\r\nhello\r\n0;b=c\r\n\r\n", "hello"),
        ("5 \r\nhello\r\n0\t \r\n\r\n", "hello"), ("5 ; a = \"b;\t\u{E9}\"\r\nhello\r\n0\r\n\r\n", "hello"),
        ("2\r\n\r\n\r\n2\r\n0\r\r\n0\r\n\r\n", "\r\n0\r"), ("1\r\n\0\r\n0\r\nA: 1\r\nContent-Length: 9\r\n\r\n", "\0"),
        ("1\r\n.\r\n0\r\nHTTP/1.1 500 No\r\nno colon\n folded\r\n\n", "."),
    ])
    func `a chunked body is decoded`(chunks: String, body: String) {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let record = parsed(head + chunks)
        #expect(record.body == Array(body.utf8) && record.isComplete && record.allowsReuse && !record.hasExcess)
        #expect(record.status == 200 && record.fields == ["Transfer-Encoding: chunked"])
    }

    @Test(arguments: ["Chunked", " chunked ,", "identity\r\ntransfer-encoding: CHUNKED", "identity, chunked"])
    func `the name of the chunked coding is recognized in any case and in lists`(value: String) {
        let record = parsed("HTTP/1.1 200 OK\r\nTransfer-Encoding:\(value)\r\n\r\n1\r\nx\r\n0\r\n\r\n")
        #expect(record.body == [0x78] && record.isComplete && record.allowsReuse)
    }

    @Test func `a chunk may be large and arrive in part`() {
        let record = parsed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3fffffffFFFFFFF0\r\nhello")
        #expect(record.failure == nil && record.body == Array("hello".utf8) && !record.isCompleteAtEnd)
    }

    // MARK: - Reuse

    @Test(arguments: [
        ("HTTP/1.1", "A: 1", true), ("HTTP/1.1", "Connection: close", false),
        ("HTTP/1.1", "Connection: keep-alive", true), ("HTTP/1.1", "connection:x, CLOSE ,y", false),
        ("HTTP/1.1", "Connection: x\r\nConnection: close", false), ("HTTP/1.1", "Connection: closed, not-close", true),
        ("HTTP/1.1", "Connection: keep-alive, close", false), ("HTTP/1.1", "Connection: x,\r\n close", false),
        ("HTTP/1.0", "A: 1", false), ("HTTP/1.0", "Connection: Keep-Alive", true),
        ("HTTP/1.0", "Connection: keep-alive, close", false),
        ("HTTP/1.0", "Connection: keep-alive\r\nTransfer-Encoding: identity", false),
        ("HTTP/1.1", "Transfer-Encoding: identity", false), ("HTTP/1.1", "Transfer-Encoding:", false),
    ])
    func `the version and the fields determine reuse`(version: String, fields: String, allowsReuse: Bool) {
        let record = parsed("\(version) 200 OK\r\n\(fields)\r\nContent-Length: 2\r\n\r\nhi")
        #expect(record.isComplete && record.body == Array("hi".utf8) && record.allowsReuse == allowsReuse)
    }

    @Test(arguments: [
        ("HTTP/1.1", "A: 1", true), ("HTTP/1.1", "Content-Length: 1", false), ("HTTP/1.1", "Connection: close", false),
        ("HTTP/1.0", "A: 1", false), ("HTTP/1.0", "Connection: keep-alive", false),
    ])
    func `chunks with a length or of version 1.0 are read but do not allow reuse`(
        version: String, field: String, allowsReuse: Bool
    ) {
        for fields in ["\(field)\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\n\(field)"] {
            let record = parsed("\(version) 200 OK\r\n\(fields)\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
            #expect(record.isComplete && record.body == Array("hi".utf8) && record.allowsReuse == allowsReuse)
        }
    }

    // MARK: - Ends

    private static let responses = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 204 No Content\r\nA: 1\r\n\r\n",
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 304\n\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nA: 1\r\n\r\n",
    ]

    @Test(arguments: responses)
    func `a response that is truncated anywhere is incomplete`(response: String) {
        let bytes = Array(response.utf8)
        #expect(parsed(bytes).allowsReuse)
        for count in bytes.indices {
            let record = ResponseRecord(Array(bytes[..<count]))
            #expect(record.failure == nil && !record.isComplete && !record.isCompleteAtEnd, "\(count) bytes")
            #expect(!record.allowsReuse && !record.hasExcess && record.status ?? 200 >= 200, "\(count) bytes")
        }
    }

    @Test(arguments: responses)
    func `bytes after the end are excess and prevent reuse`(response: String) {
        let complete = parsed(response)
        for excess in ["\0", "\r\n", "0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", response] {
            let record = parsed(response + excess)
            #expect(record.isComplete && record.hasExcess && !record.allowsReuse)
            #expect(
                record.body == complete.body && record.fields == complete.fields && record.status == complete.status)
        }
    }

    @Test func `a response in the body of another is not a response`() {
        let inner = "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
        let record = parsed("HTTP/1.1 200 OK\r\nContent-Length: \(inner.utf8.count)\r\n\r\n\(inner)")
        #expect(record.status == 200 && record.body == Array(inner.utf8) && record.allowsReuse)
        let head = parsed("HTTP/1.1 200 OK\r\nContent-Length: \(inner.utf8.count)\r\n\r\n\(inner)", .head)
        #expect(head.status == 200 && head.body.isEmpty && head.hasExcess && !head.allowsReuse)
    }
}
