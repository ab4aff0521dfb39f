import TestSupport
import Testing
import WaybillCore

@testable import WaybillCurl

@Suite struct ResponseFailureTests {
    private let ok = "HTTP/1.1 200 OK\r\n"
    private let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    private func long(_ count: Int) -> String { String(repeating: "x", count: count) }

    // MARK: - Protocols

    @Test(arguments: [
        "SSH-2.0", "HTTP/2.0", "HTTP/1.2", "HTP", "h", "http/1.1", "HTTP/0.9", "HTTP/1.10", "HTTP/1.1\t", "HTTP/11",
        "HTTP1", "ICY 200 OK", "220 mail", "\r\nHTTP/1.1", "\n", " HTTP/1.1", "HTTP/1.1\r", "HTTP/1\n", "HTTP/1.1\n",
        "\u{16}\u{3}\u{1}", "\0", "<html>",
    ])
    func `the first byte of another protocol is an error without a line feed`(beginning: String) {
        let bytes = Array(beginning.utf8)
        #expect(parsed(bytes).failure == .notHTTP)
        #expect(parsed(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8) + bytes).failure == .notHTTP)
        let common = ["HTTP/1.1 ", "HTTP/1.0 "].map { name in zip(name.utf8, bytes).prefix { $0 == $1 }.count }.max()!
        #expect(ResponseRecord(Array(bytes[..<common])).failure == nil)
        #expect(ResponseRecord(Array(bytes[...common])).failure == .notHTTP)
    }

    @Test(arguments: [
        "HTTP/1.1 ", "HTTP/1.1  200", "HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1 abc", "HTTP/1.1 099 No",
        "HTTP/1.1 200\tOK", "HTTP/1.1 200,", "HTTP/1.1 -20 No", "HTTP/1.1 200 O\rK", "HTTP/1.1 200 OK\r\r",
        "HTTP/1.1 200 \0", "HTTP/1.1 2\u{662}",
    ])
    func `a malformed status line is an error`(line: String) {
        #expect(parsed(line + "\r\n\r\n").failure == .malformedStatusLine)
        #expect(parsed(line + "\r\n").failure == .malformedStatusLine)
        #expect(parsed("HTTP/1.1 103 Early Hints\r\n\r\n" + line + "\n").failure == .malformedStatusLine)
    }

    @Test func `a switch to another protocol is an error`() {
        #expect(parsed("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n").failure == .malformedFraming)
        #expect(parsed("HTTP/1.1 100\r\n\r\nHTTP/1.1 101\r\n\r\n" + ok + "\r\n").failure == .malformedFraming)
    }

    // MARK: - Framing

    @Test(arguments: [
        "5\r\nContent-Length: 6", "5, 6", "6,5\r\ncontent-length: 5", "", ",", "5,", ",5", "+5", "-5", "0x5", "5 5",
        "5;", "5.0", "5\u{1}", "\u{B}5", "5\u{7F}", "\u{1}\r\nContent-Length: 5", "9223372036854775808",
        "99999999999999999999999", "\u{FF15}", "five", "5,\u{301}5",
    ])
    func `an invalid or conflicting length is an error`(length: String) {
        for rest in ["\r\n\r\n", "\n\r\nhello", "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"] {
            #expect(parsed(ok + "Content-Length: \(length)\(rest)").failure == .malformedContentLength)
        }
        #expect(parsed(ok + "Content-Length: \(length)\r\n\r\n", .head).failure == .malformedContentLength)
    }

    @Test(arguments: [
        "gzip, chunked", "gzip", "chunked, chunked", "chunked\r\nTransfer-Encoding: chunked", "chunked, gzip",
        "chunked, identity", "chunked\r\nA: 1\r\ntransfer-encoding: identity", "chunked;q=1", "\"chunked\"", "xchunked",
        "chunked\u{1}", "\u{B}chunked", "chun\u{212A}ed", "chunked\u{301}", "chun ked", "chunke",
    ])
    func `codings other than chunked, and anything after it, are an error`(value: String) {
        for response in [ok, "HTTP/1.0 200 OK\r\n", "HTTP/1.1 304\r\n"] {
            let fields = "Transfer-Encoding: \(value)\r\nContent-Length: 5"
            #expect(parsed("\(response)\(fields)\r\n\r\nhello").failure == .malformedFraming)
        }
    }

    @Test(arguments: ["Content-Length", "transfer-encoding", "CONNECTION"], [" ", "\t", " \t "])
    func `whitespace before the colon of a framing field is an error`(name: String, space: String) {
        #expect(parsed(ok + "\(name)\(space): 5\r\n").failure == .malformedFraming)
        #expect(parsed(ok + "\(name)X\(space): 5\r\n").failure == nil)
        #expect(parsed(ok + "\(name)\(space)\r\n").failure == nil)
    }

    @Test(
        arguments: ["Content-Length: 5", "Transfer-Encoding: chunked", "Transfer-Encoding:", "Content-Length: 1"],
        [" ", "\t"])
    func `a folded line after a framing field is an error`(field: String, space: String) {
        #expect(parsed(ok + "\(field)\r\n\(space)5\r\n").failure == .malformedFraming)
        #expect(parsed(ok + "\(field)\n\(space)\r\n").failure == .malformedFraming)
        #expect(parsed(ok + "\(field)\r\nA: 1\r\n\(space)5\r\n").failure == nil)
        #expect(parsed(ok + "\(field)\r\nno colon\r\n\(space)5\r\n").failure == nil)
    }

    @Test(arguments: [
        "A: x\rContent-Length: 5", "A: \r", "A\r: 1", "\rA: 1", "A: 1\r", "\r", "\r\r", "A: \0", "\0", "A\0: 1",
        " folded\rA: 1", "\tfolded\0", "no\rcolon", "Content-Length: 5\r", "Transfer-Encoding: \rchunked",
        "Transfer-Encoding\0: chunked",
    ])
    func `a bare CR and NUL in a head are errors`(line: String) {
        #expect(parsed(ok + line + "\r\n").failure == .malformedFraming)
        #expect(parsed(ok + "B: 2\n" + line + "\r\n\r\n").failure == .malformedFraming)
        #expect(parsed("HTTP/1.1 103\r\n" + line + "\r\n\r\n").failure == .malformedFraming)
    }

    // MARK: - Chunks

    @Test(arguments: [
        "5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello0\r\n\r\n", "5\r\nhellos\r\n", "5\r\nhello\rx",
        "5\r\nhello\r\r\n", "0\n\r\n", "\n", "\r\n", "x\r\n", " 5\r\n", "-5\r\n", "+5\r\n", "0x5\r\n", "5x\r\n",
        "5,\r\n", "5 5\r\n", ";a\r\n", "5\u{B}\r\n", "g\r\n", "\u{FF15}\r\n", "5\r\r\n", "5;a\rb\r\n", "5;a\0\r\n",
        "5\0\r\n", "5;a\nb\r\n", "0\r\nA: \r1\r\n", "0\r\n\r\r\n", "0\r\nA: \0\r\n", "5\r\nhello\r\n0\r\n\0\r\n",
    ])
    func `a malformed chunk is an error`(chunks: String) {
        #expect(parsed(chunked + chunks).failure == .malformedChunk)
        #expect(parsed(chunked + "1\r\n.\r\n" + chunks).failure == .malformedChunk)
        #expect(parsed("HTTP/1.0" + chunked.dropFirst(8) + chunks).failure == .malformedChunk)
    }

    @Test(arguments: [
        "4000000000000000", "8000000000000000", "ffffffffffffffff", "10000000000000000", "0fFFFFFFFFFFFFFFFFF",
    ])
    func `a chunk size beyond 62 bits is an error`(size: String) {
        #expect(parsed(chunked + size + "\r\n").failure == .malformedChunk)
        #expect(parsed(chunked + size + ";x\r\nhello").failure == .malformedChunk)
    }

    @Test func `a line with a chunk size has at most 4096 bytes`() {
        #expect(parsed(chunked + "5;\(long(4_092))\r\nhello\r\n0\r\n\r\n").allowsReuse)
        #expect(parsed(chunked + "5;\(long(4_093))\r\nhello\r\n0\r\n\r\n").failure == .malformedChunk)
        #expect(parsed(chunked + "5;\(long(4_094))").failure == nil)
        #expect(parsed(chunked + "5;\(long(4_095))").failure == .malformedChunk)
        #expect(parsed(chunked + String(repeating: "0", count: 4_093) + "1\r\n.\r\n0\r\n\r\n").allowsReuse)
    }

    // MARK: - Limits

    @Test func `the number of bytes in a head is limited`() {
        // The narrow limit is 120 bytes; the status line has 17, the name and line ending 5, the empty line 2.
        #expect(parsed(ok + "A: \(long(96))\r\n\r\n", .narrow).isCompleteAtEnd)
        #expect(parsed(ok + "A: \(long(97))\r\n\r\n", .narrow).failure == .headTooLarge)
        #expect(parsed(ok + "A: \(long(40))\r\nB: \(long(60))\r\n", .narrow).failure == .headTooLarge)
        #expect(
            parsed("HTTP/1.1 100\r\nA: \(long(80))\r\n\r\n" + ok + "A: \(long(80))\r\n\r\n", .narrow).isCompleteAtEnd)
    }

    @Test(arguments: [
        "A: ", "", " ", "A: \0", "A: \r", "Content-Length: x", "Transfer-Encoding: gzip,", "Connection : ",
    ])
    func `a line longer than a head may be is an error without a line feed`(beginning: String) {
        let space = 120 - beginning.utf8.count
        #expect(parsed(ok + beginning + long(space), .narrow).failure == nil)
        #expect(parsed(ok + beginning + long(space + 1), .narrow).failure == .headTooLarge)
        #expect(parsed(ok + beginning + long(space) + "\n", .narrow).failure == .headTooLarge)
        #expect(parsed(ok + beginning + long(space + 1) + "\r\n\r\n", .narrow).failure == .headTooLarge)
    }

    @Test(arguments: ["HTTP/1.1 200 ", "HTTP/1.1 abc", "HTTP/1.1 \r", "HTTP/1.0 101 \0"])
    func `a long status line is an error without a line feed`(beginning: String) {
        #expect(parsed(beginning + long(120 - beginning.utf8.count), .narrow).failure == nil)
        #expect(parsed(beginning + long(121 - beginning.utf8.count), .narrow).failure == .headTooLarge)
        #expect(parsed(beginning + long(121) + "\r\n", .narrow).failure == .headTooLarge)
        #expect(parsed("HTTP/1.2 " + long(121) + "\r\n", .narrow).failure == .notHTTP)
    }

    @Test func `the number of lines in a head is limited`() {
        let four = "A: 1\r\nB: 2\r\nno colon\r\n folded\r\n"
        #expect(parsed(ok + four + "\r\n", .narrow).isCompleteAtEnd)
        #expect(parsed(ok + four + "E: 5\r\n", .narrow).failure == .tooManyHeaderLines)
        #expect(parsed("HTTP/1.1 103\r\n" + four + "\r\n" + ok + four + "\r\n", .narrow).isCompleteAtEnd)
    }

    @Test func `trailers count towards the limits of the head`() {
        // The empty line of the head counts as a line, that of the trailers does not.
        #expect(parsed(chunked + "0\r\nA: 1\r\nB: 2\r\n\r\n", .narrow).allowsReuse)
        #expect(parsed(chunked + "0\r\nA: 1\r\nB: 2\r\nC: 3\r\n", .narrow).failure == .tooManyHeaderLines)
        #expect(parsed(chunked + "0\r\nA: \(long(68))\r\n\r\n", .narrow).allowsReuse)
        #expect(parsed(chunked + "0\r\nA: \(long(69))\r\n", .narrow).failure == .headTooLarge)
        #expect(parsed(chunked + "0\r\n\(long(120))", .narrow).failure == nil)
        #expect(parsed(chunked + "0\r\n\(long(121))", .narrow).failure == .headTooLarge)
    }

    @Test(arguments: 0...4)
    func `a chunked response may have as many fields as any other`(count: Int) {
        let others = (0..<max(0, count - 1)).map { "A: \($0)\r\n" }.joined()
        #expect(parsed(ok + others + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .narrow).allowsReuse)
    }

    @Test func `the number of bytes in a body is limited`() {
        #expect(parsed(ok + "Content-Length: 24\r\n\r\n\(long(24))", .narrow).allowsReuse)
        #expect(parsed(ok + "Content-Length: 25\r\n\r\n\(long(24))", .narrow).failure == nil)
        #expect(parsed(ok + "Content-Length: 25\r\n\r\n\(long(25))", .narrow).failure == .bodyTooLarge)
        #expect(parsed(ok + "\r\n\(long(24))", .narrow).isCompleteAtEnd)
        #expect(parsed(ok + "\r\n\(long(25))", .narrow).failure == .bodyTooLarge)
        #expect(parsed(chunked + "c\r\n\(long(12))\r\nC\r\n\(long(12))\r\n0\r\n\r\n", .narrow).allowsReuse)
        #expect(parsed(chunked + "c\r\n\(long(12))\r\nD\r\n\(long(13))x", .narrow).failure == .bodyTooLarge)
        #expect(parsed(chunked + "3fffffffffffffff\r\n\(long(25))", .narrow).failure == .bodyTooLarge)
        #expect(parsed(ok + "Content-Length: 9223372036854775807\r\n\r\n\(long(25))", .narrow).failure == .bodyTooLarge)
    }
}
