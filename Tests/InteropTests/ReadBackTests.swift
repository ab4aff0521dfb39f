import TestSupport
import Testing
import WaybillMultipart

/// Forms of Waybill, parsed by third-party programs.
@Suite(.timeLimit(.minutes(3 * Slowness.factor)))
struct ReadBackTests {
    @Test(arguments: ForeignReader.all)
    func `a foreign reader reads the form except for known differences`(reader: ForeignReader) async throws {
        let batch = try await ReaderBatch.shared()
        let reading = try await reader.read(batch)
        let reader = reader.adjusted(forVersion: reading.version)
        let comparison = Comparison(batch, reading, reader.limitations)
        let known = KnownDifferences.of(reader.name)
        #expect(comparison.faults.isEmpty, "\(reading.version)\n\(comparison.faults.joined(separator: "\n"))")
        let new = comparison.differences.subtracting(known).map(\.description).sorted()
        #expect(
            new.isEmpty, "\(reading.version) differs without a row in KnownDifferences:\n\(new.joined(separator: "\n"))"
        )
        let gone = known.subtracting(comparison.differences).map(\.description).sorted()
        #expect(
            gone.isEmpty, "\(reading.version) no longer differs. Remove the row:\n\(gone.joined(separator: "\n"))")
    }

    @Test(arguments: [1, 7, 4_096, .max])
    func `MultipartParser reads the form`(piece: Int) async throws {
        for form in try await ReaderBatch.shared().forms {
            // A text that looks like an escape cannot be distinguished from one: the algorithm leaves `%` unchanged.
            guard !form.id.hasSuffix(": looks escaped") else { continue }
            // Byte by byte, the few large bodies show nothing that the others do not.
            if piece < 7, form.body.count > 20_000 { continue }
            let read = try Collector.read(form.body, form.contentType, piece)
            #expect(read == form.parts, "\(form.id)")
        }
    }

    @Test func `MultipartParser decodes text that looks like an escape`() async throws {
        let forms = try await ReaderBatch.shared().forms.filter { $0.id.hasSuffix(": looks escaped") }
        #expect(forms.count == 2)
        for form in forms {
            var expected = form.parts
            let text = Array("a\"b\r\n.jpg".utf8)
            if expected[0].fileName == nil { expected[0].name = text } else { expected[0].fileName = text }
            #expect(try Collector.read(form.body, form.contentType, .max) == expected)
        }
    }

    @Test func `known differences name existing readers and forms`() async throws {
        let forms = Set(try await ReaderBatch.shared().forms.map(\.id))
        let readers = Set(ForeignReader.all.map(\.name) + ["Node 18"])
        #expect(KnownDifferences.groups.allSatisfy { !$0.why.isEmpty && !$0.rows.isEmpty })
        for row in KnownDifferences.rows {
            #expect(forms.contains(row.form), "\(row.form)")
            #expect(readers.isSuperset(of: row.readers), "\(row.form): \(row.readers)")
        }
    }
}

/// Collects the parts that the parser reports.
struct Collector: MultipartHandler {
    private var parts: [TablePart.Read] = []

    static func read(_ body: [UInt8], _ contentType: String, _ piece: Int) throws -> [TablePart.Read] {
        var limits = MultipartLimits()
        limits.parts = 2_000
        var parser = try MultipartParser(contentType: contentType, limits: limits)
        var collector = Collector()
        var start = 0
        while start < body.count {
            let end = start + min(piece, body.count - start)
            try parser.feed(body.span.extracting(start..<end), to: &collector)
            start = end
        }
        try parser.finish()
        return collector.parts
    }

    mutating func partBegan(_ head: MultipartPartHead) {
        parts.append(
            .init(
                name: Array(head.name.utf8), fileName: head.fileName.map { Array($0.utf8) },
                contentType: head.contentType, content: []))
    }

    mutating func partData(_ bytes: Span<UInt8>) {
        for index in bytes.indices { parts[parts.count - 1].content.append(bytes[index]) }
    }

    mutating func partEnded() {}
}
