import Testing
import WaybillCore
import WaybillMultipart

/// Published vulnerabilities of other parsers by number: each input, or a similar one, reaches a limit here or costs
/// linear work.
@Suite struct AdvisoryTests {
    private static let disposition = "Content-Disposition: form-data; name=a"

    private func code(_ pieces: some Sequence<String>, _ change: (inout MultipartLimits) -> Void = { _ in }) -> String?
    {
        var limits = MultipartLimits()
        change(&limits)
        var sink = Sink()
        do {
            var parser = try MultipartParser(boundary: "B", limits: limits)
            for piece in pieces { try parser.feed(Array(piece.utf8).span, to: &sink) }
            try parser.finish()
            return nil
        } catch {
            return (error as? BodyError)?.code.description
        }
    }

    private struct Sink: MultipartHandler {
        var bytes = 0
        var calls = 0
        var heads: [MultipartPartHead] = []
        mutating func partBegan(_ head: MultipartPartHead) { heads.append(head) }
        mutating func partData(_ data: Span<UInt8>) {
            bytes += data.count
            calls += 1
        }
        mutating func partEnded() {}
    }

    private func part(_ headers: String, _ content: String = "") -> String { "--B\r\n\(headers)\r\n\r\n\(content)\r\n" }

    @Test(arguments: [
        "CVE-2023-25577", "CVE-2023-24998", "CVE-2023-0662", "CVE-2023-24580", "CVE-2022-41725", "CVE-2023-24536",
        "CVE-2023-27530", "CVE-2026-34829",
    ])
    func `an unlimited number of parts ends at the limit`(advisory: String) {
        #expect(code(sequence(first: part(Self.disposition)) { $0 }) == "tooManyParts", "\(advisory)")
    }

    @Test(arguments: ["CVE-2025-48976", "CVE-2023-45290", "CVE-2025-61772", "CVE-2024-49767"])
    func `headers without an end reach a limit`(advisory: String) {
        #expect(code(sequence(first: "--B\r\nX: y") { _ in "yyyyyyyyyy" }) == "headerTooLarge", "\(advisory)")
        #expect(code(sequence(first: "--B\r\nX: y\r\n") { _ in "X: y\r\n" }) == "tooManyHeaderLines", "\(advisory)")
    }

    @Test func `CVE-2025-61770, a preamble without an end`() {
        #expect(code(sequence(first: "junk\r\n") { $0 }) == "preambleTooLarge")
    }

    @Test(arguments: ["CVE-2025-61771", "CVE-2024-47874", "CVE-2026-34516"])
    func `a field without an end that is kept in memory reaches a limit`(advisory: String) {
        let chunk = String(repeating: "x", count: 10_000)
        #expect(code(sequence(first: "--B\r\n\(Self.disposition)\r\n\r\n") { _ in chunk }) == "fieldTooLarge")
    }

    @Test func `CVE-2025-69228, a total counted separately for each part`() {
        let one = part(Self.disposition, String(repeating: "x", count: 500))
        #expect(code([one, one, one, "--B--"]) { $0.total = .bytes(Int64(one.utf8.count * 3 + 5)) } == nil)
        #expect(code([one, one, one, "--B--"]) { $0.total = .bytes(Int64(one.utf8.count * 3 + 4)) } == "bodyTooLarge")
        #expect(
            code([one, one, "--B--\r\n", "epilogue"]) { $0.total = .bytes(Int64(one.utf8.count * 2 + 14)) }
                == "bodyTooLarge")
    }

    /// Counts work instead of time: the number of calls with content bounds how often it was examined.
    @Test func `CVE-2023-46136, a part that begins with line breaks`() throws {
        let breaks = String(repeating: "\r\n", count: 500_000)
        #expect(try handedOut("\(breaks)", by: 4_096) <= 2 * (1_000_000 / 4_096 + 4))
        #expect(try handedOut(String(repeating: "\r", count: 100_000), by: 100) <= 3 * 1_000 + 4)
    }

    @Test func `CVE-2016-3092, a boundary as long as a buffer`() throws {
        for length in 60...70 {
            let boundary = String(repeating: "x", count: length)
            for size in (length - 2)...(length + 8) {
                let content = String(repeating: "\r\n--\(boundary.dropLast())", count: 40)
                let body = "--\(boundary)\r\n\(Self.disposition)\r\n\r\n\(content)\r\n--\(boundary)--"
                var parser = try MultipartParser(boundary: boundary)
                var sink = Sink()
                let bytes = Array(body.utf8)
                var start = 0
                while start < bytes.count {
                    let end = min(bytes.count, start + size)
                    try parser.feed(bytes.span.extracting(start..<end), to: &sink)
                    start = end
                }
                try parser.finish()
                #expect(sink.bytes == content.utf8.count)
            }
        }
    }

    @Test func `CVE-2024-53981, junk around the boundaries`() throws {
        let junk = String(repeating: "\r\n-", count: 1_000_000)
        #expect(code([part(Self.disposition), "--B--\r\n", junk]) == nil)
        #expect(code([junk]) == "preambleTooLarge")
        #expect(code(["--B--", "junk"]) == "malformedDelimiter")
        #expect(code(["--BBBB\r\n", "--B--"]) == "malformedDelimiter")
    }

    @Test func `CVE-2024-30251, a body truncated anywhere`() {
        let body = part("\(Self.disposition); filename=\"x\"", "content") + "--B--"
        for end in 1..<body.utf8.count { #expect(code([String(body.utf8.prefix(end)) ?? ""]) == "truncatedBody") }
    }

    @Test(arguments: ["CVE-2026-34827", "CVE-2026-8159", "CVE-2026-28356", "CVE-2025-49007", "CVE-2024-24762"])
    func `headers that cause repeated scans are parsed in linear time`(advisory: String) {
        let room = 16_000
        for piece in ["\\\"", "%22", "\\", ";", "; a=\"\"", "\\\" ", "\\\";", " ", "=\"", "a=b;", "*=", "\\\"\t ;"] {
            let text = String(repeating: piece, count: room / piece.utf8.count)
            for header in [
                "\(Self.disposition); filename=\"\(text)\"", "\(Self.disposition); filename=\"\(text)",
                "Content-Disposition: form-data; \(text)", "Content-Disposition: \(text)", "\(Self.disposition)\(text)",
            ] {
                // The result does not matter, only the time: a thousand quadratic scans would take minutes.
                _ = code([part(header), "--B--"]) { $0.parameters = .max }
            }
        }
        let name = String(repeating: "%22", count: 5_000)
        #expect(code([part("Content-Disposition: form-data; name=\"\(name)\""), "--B--"]) == nil)
    }

    @Test func `CVE-2022-24434, a first header line that begins with whitespace`() {
        #expect(code(["--B\r\n X: y\r\n\r\n\r\n--B--"]) == "malformedHeader")
        #expect(code(["--B\r\n\t\r\n\r\n\r\n--B--"]) == "malformedHeader")
    }

    @Test(arguments: ["CVE-2025-47944", "CVE-2025-48997", "CVE-2025-7338"])
    func `empty names are accepted, malformed ones and empty bodies refused`(advisory: String) {
        #expect(code([part("Content-Disposition: form-data; name=\"\"; filename=\"x\""), "--B--"]) == nil)
        #expect(code([part("Content-Disposition: form-data; name=\"\""), "--B--"]) == nil)
        #expect(code([part("Content-Disposition: form-data; name="), "--B--"]) == "malformedHeader")
        #expect(code([part("Content-Disposition: form-data"), "--B--"]) == "missingName")
        #expect(code([""]) == "truncatedBody")
    }

    @Test(arguments: ["CVE-2026-8162", "CVE-2026-53537"])
    func `a starred file name is ignored`(advisory: String) {
        for value in ["%", "%G1", "UTF-8''%E0%A4%A", "UTF-8''evil", "''''"] {
            let header = "\(Self.disposition); filename=\"good\"; filename*=\(value); name*=\(value)"
            let record = ParserRecord(
                Array("\(part(header))--B--".utf8), cutAt: [], boundary: "B", limits: MultipartLimits())
            #expect(record.errorCode == nil && record.parts.first?.head.fileName == "good", "\(value)")
            #expect(record.parts.first?.head.name == "a")
        }
    }

    @Test(arguments: ["CVE-2022-48279"])
    func `bodies that a firewall and a server may parse differently are refused or unambiguous`(advisory: String) {
        let refused = [
            "Content-Disposition: form-data; name=a\0b", "Content-Disposition: form-data; name=a; name=b",
            "\(Self.disposition)\r\nContent-Disposition: form-data; name=b", "\(Self.disposition)\r\n ; filename=x",
            "\(Self.disposition)\n", "\(Self.disposition); filename=x; filename=y",
            "Content-Disposition form-data; name=a",
        ]
        for header in refused { #expect(code([part(header), "--B--"]) != nil, "\(header.debugDescription)") }
        // Content after the closing boundary is ignored.
        let record = ParserRecord(
            Array((part(Self.disposition, "1") + "--B--\r\n" + part(Self.disposition, "2") + "--B--").utf8), cutAt: [],
            boundary: "B", limits: .init())
        #expect(record.errorCode == nil && record.parts.count == 1)
    }

    @Test func `CVE-2026-28980, header fields are counted before they are stored`() {
        let lines = String(repeating: "X: y\r\n", count: 31)
        #expect(code([part("\(lines)\(Self.disposition)"), "--B--"]) == nil)
        #expect(code([part("\(lines)X: y\r\n\(Self.disposition)"), "--B--"]) == "tooManyHeaderLines")
        // Names that are not valid HTTP field names do not trap.
        for header in [":", ": x", "\u{8EAB}: x", "a b: x", "\u{7F}: x", "(: x"] {
            #expect(code([part("\(Self.disposition)\r\n\(header)"), "--B--"]) == "malformedHeader")
        }
    }

    /// Returns the number of calls with content when a text arrives in pieces of the given size.
    private func handedOut(_ content: String, by size: Int) throws -> Int {
        var parser = try MultipartParser(boundary: "B")
        var sink = Sink()
        try parser.feed(Array("--B\r\n\(Self.disposition); filename=x\r\n\r\n".utf8).span, to: &sink)
        let bytes = Array(content.utf8)
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + size)
            try parser.feed(bytes.span.extracting(start..<end), to: &sink)
            start = end
        }
        try parser.feed(Array("\r\n--B--".utf8).span, to: &sink)
        try parser.finish()
        #expect(sink.bytes == bytes.count)
        return sink.calls
    }
}
