import HTTPTypes
import Testing
import WaybillCore

@testable import WaybillCurl

@Suite struct ResponseAssemblerTests {
    private func assemble(_ lines: [String], limits: TransferLimits = .init()) throws -> ResponseAssembler {
        var assembler = ResponseAssembler(limits: limits)
        for line in lines {
            let bytes = Array((line + "\r\n").utf8)
            _ = try assembler.appendLine(bytes.span)
        }
        return assembler
    }

    @Test func `a head is complete only with its empty line`() throws {
        let lines = ["HTTP/1.1 200 OK", "Content-Type: text/plain", "X-Two:  spaced\t "]
        #expect(try assemble(lines).head == nil)
        let head = try #require(try assemble(lines + [""]).head)
        #expect(head.status == .ok)
        #expect(head.headerFields[.contentType] == "text/plain")
        #expect(head.headerFields[HTTPField.Name("X-Two")!] == "spaced")
    }

    @Test func `interim responses are skipped`() throws {
        let lines = [
            "HTTP/1.1 100 Continue", "", "HTTP/1.1 103 Early Hints", "Link: </a>", "", "HTTP/1.1 201 Created", "",
        ]
        let head = try #require(try assemble(lines).head)
        #expect(head.status.code == 201)
        #expect(head.headerFields.isEmpty)
        #expect(try assemble(Array(lines.prefix(5))).head == nil)
    }

    @Test func `a repeated field is kept as two fields`() throws {
        let head = try #require(try assemble(["HTTP/1.1 200 OK", "Set-Cookie: a=1", "Set-Cookie: b=2", ""]).head)
        #expect(head.headerFields.count == 2)
    }

    @Test func `trailers do not change the head`() throws {
        var assembler = try assemble(["HTTP/1.1 200 OK", ""])
        let trailer = Array("Content-Type: text/evil\r\n".utf8)
        #expect(try assembler.appendLine(trailer.span) == false)
        #expect(assembler.head?.headerFields[.contentType] == nil)
    }

    @Test func `a trailer that looks like a status line does not start a response`() throws {
        var assembler = try assemble(["HTTP/1.1 422 No", "X-A: 1", ""])
        for line in ["HTTP/1.1 200 OK", "X-B: 2", ""] {
            let bytes = Array((line + "\r\n").utf8)
            #expect(try assembler.appendLine(bytes.span) == false)
        }
        let head = try #require(assembler.head)
        #expect(head.status.code == 422 && head.headerFields.count == 1)
    }

    @Test func `trailers count towards the limits of the head`() throws {
        var limits = TransferLimits()
        limits.responseHeadLines = 10
        let head = ["HTTP/1.1 200 OK", ""]
        let trailers = (0..<20).map { "X-\($0): 1" }
        _ = try assemble(head + trailers.prefix(8), limits: limits)
        #expect(throws: ResponseAssembler.Failure.tooManyHeaderLines) { try assemble(head + trailers, limits: limits) }
        limits.responseHeadLines = 1_000
        limits.responseHead = .bytes(100)
        #expect(throws: ResponseAssembler.Failure.headTooLarge) { try assemble(head + trailers, limits: limits) }
    }

    @Test(arguments: ["no colon here", "bad name: x", ": empty", "X-Control: a\u{1}b"])
    func `an invalid field line is dropped`(line: String) throws {
        let head = try #require(try assemble(["HTTP/1.1 200 OK", line, "X-Good: 1", ""]).head)
        #expect(head.headerFields.count == 1)
    }

    @Test(arguments: [
        ["99999999999999999999"], ["9223372036854775808"], ["-1"], ["+5"], ["0x10"], ["5 5"], [""], ["5,"], ["5, 6"],
        ["5", "6"],
        ["5;"],
    ])
    func `an invalid Content-Length is rejected`(lengths: [String]) {
        let fields = lengths.map { "Content-Length: \($0)" }
        #expect(throws: ResponseAssembler.Failure.malformedContentLength) {
            try assemble(["HTTP/1.1 200 OK"] + fields + [""])
        }
    }

    @Test(arguments: [["0"], ["9223372036854775807"], [" 05 "], ["5, 5"], ["5", "5"]])
    func `a valid Content-Length is accepted, also repeated`(lengths: [String]) throws {
        let fields = lengths.map { "Content-Length: \($0)" }
        #expect(try assemble(["HTTP/1.1 200 OK"] + fields + [""]).head != nil)
    }

    @Test(arguments: ["HTTP/1.1", "HTTP/1.1 2000 OK", "HTTP/1.1 abc", "HTTP/1.1 099 No", "HTTP/1.1 -20 No"])
    func `a malformed status line is rejected`(line: String) {
        #expect(throws: ResponseAssembler.Failure.malformedStatusLine) { try assemble([line]) }
    }

    @Test func `the limits of the head are exact`() throws {
        var limits = TransferLimits()
        limits.responseHeadLines = 2
        _ = try assemble(["HTTP/1.1 200 OK", "A: 1", "B: 2", ""], limits: limits)
        #expect(throws: ResponseAssembler.Failure.tooManyHeaderLines) {
            try assemble(["HTTP/1.1 200 OK", "A: 1", "B: 2", "C: 3"], limits: limits)
        }
        limits = TransferLimits()
        limits.responseHead = .bytes(17 + 6 + 2)  // status line, one field, the empty line
        _ = try assemble(["HTTP/1.1 200 OK", "A: 1", ""], limits: limits)
        #expect(throws: ResponseAssembler.Failure.headTooLarge) {
            try assemble(["HTTP/1.1 200 OK", "A: 12", ""], limits: limits)
        }
    }

    @Test func `the limit of the body is exact`() throws {
        var limits = TransferLimits()
        limits.responseBody = .bytes(4)
        var assembler = try assemble(["HTTP/1.1 200 OK", ""], limits: limits)
        try unsafe [1, 2, 3, 4].withUnsafeBytes { try unsafe assembler.appendBody(.init(rebasing: $0[..<4])) }
        #expect(assembler.body.count == 4)
        #expect(throws: ResponseAssembler.Failure.bodyTooLarge) {
            try unsafe [UInt8(5)].withUnsafeBytes { try unsafe assembler.appendBody($0) }
        }
    }

    @Test func `the head of a repeated request replaces the first head and body`() throws {
        var assembler = try assemble(["HTTP/1.1 417 Expectation Failed", ""])
        try unsafe [UInt8(1)].withUnsafeBytes { try unsafe assembler.appendBody($0) }
        assembler.requestWillBegin()
        for line in ["HTTP/1.1 200 OK\r\n", "\r\n"] {
            let bytes = Array(line.utf8)
            _ = try assembler.appendLine(bytes.span)
        }
        #expect(assembler.head?.status == .ok)
        #expect(assembler.body.isEmpty)
    }
}
