import FoundationEssentials
import Testing
import WaybillCore
import WaybillMultipart

@Suite struct RoundTripTests {
    static let names = [
        "FILE", "身份证正面", "a\"b", "a;b=c", "a\r\nb", "🙂👨‍👩‍👧", "\u{e9}", "e\u{301}", "a\\b", "with space ", "%41",
        "\u{1B}[1m",
        "a'b", "filename=\"x\"; name=\"y", "..", "a/b\\c.jpg",
    ]

    @Test func `difficult names and contents survive encoding and parsing`() async throws {
        var form = MultipartForm()
        var expected: [(String, String?, [UInt8])] = []
        for (index, name) in Self.names.enumerated() {
            for fileName in [nil, name, Self.names[(index + 5) % Self.names.count]] {
                let bytes = Array("\r\n--x\r\n\r\r\n-".utf8) + pattern(index * 37, seed: UInt64(index))
                form.append(.data(name, bytes, fileName: fileName))
                expected.append((name, fileName, bytes))
            }
        }
        form.append(.text("t\\", "ends in a backslash"))
        expected.append(("t\\", nil, Array("ends in a backslash".utf8)))
        let body = try await form.prepared()
        let bytes = try await allBytes(of: body)
        for cuts in [[], Array(bytes.indices.dropFirst()), Array(stride(from: 13, to: bytes.count, by: 13))] {
            let record = ParserRecord(
                bytes, cutAt: cuts, boundary: body.boundary.description, limits: MultipartLimits())
            #expect(record.errorCode == nil)
            #expect(record.parts.map { Array($0.head.name.utf8) } == expected.map { Array($0.0.utf8) })
            #expect(
                record.parts.map { $0.head.fileName.map { Array($0.utf8) } }
                    == expected.map { $0.1.map { Array($0.utf8) } })
            #expect(record.parts.map(\.bytes) == expected.map(\.2))
        }
    }

    @Test func `bodies full of near delimiters keep their bytes at every split`() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("RoundTripTests seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            "\r", "\n", "\r\n", "-", "--", "B", "BB", "--B", "\r\n--B", "\r\n--", " ", "\t", "x", "B--", "\r\n--B-",
            "\r\n--BBx",
        ]
        for _ in 0..<60 {
            let count = Int.random(in: 0..<12, using: &generator)
            let content = (0..<count).map { _ in pieces.randomElement(using: &generator)! }.joined()
            let body = "--BB\r\nContent-Disposition: form-data; name=a\r\n\r\n\(content)\r\n--BB--\r\n"
            let bytes = Array(body.utf8)
            let whole = ParserRecord(bytes, cutAt: [], boundary: "BB", limits: MultipartLimits())
            for cut in bytes.indices {
                let record = ParserRecord(bytes, cutAt: [cut], boundary: "BB", limits: MultipartLimits())
                #expect(record == whole, "seed \(seed), cut \(cut)")
            }
            for piece in 1...9 {
                let cuts = Array(stride(from: piece, to: bytes.count, by: piece))
                let record = ParserRecord(bytes, cutAt: cuts, boundary: "BB", limits: MultipartLimits())
                #expect(record == whole, "seed \(seed), pieces of \(piece)")
            }
            let twoCuts = ParserRecord(
                bytes, cutAt: [bytes.count / 3, bytes.count / 2], boundary: "BB", limits: MultipartLimits())
            #expect(twoCuts == whole, "seed \(seed)")
        }
    }

    @Test func `random mutations of a form violate no property of the parser`() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("RoundTripTests seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let body = Array(
            ("--B\r\nContent-Disposition: form-data; name=\"a\"; filename=\"b\\\"\"\r\nContent-Type: x/y\r\n\r\n1\r\n--B \r\n"
                + "Content-Disposition: form-data; name=\"c%22\"\r\n\r\n\r\n--B--\r\n").utf8)
        for _ in 0..<150 {
            var mutated = body
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let index = Int.random(in: mutated.indices, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: mutated[index] = Array("\r\n-B\"\\;= %".utf8).randomElement(using: &generator)!
                case 1: mutated.remove(at: index)
                default: mutated.insert(contentsOf: mutated[index...].prefix(9), at: index)
                }
            }
            let broken = await violation(of: mutated, boundary: "B")
            #expect(broken == nil, "seed \(seed), \(String(reflecting: String(decoding: mutated, as: UTF8.self)))")
        }
    }

    @Test func `every input of the fuzzers' corpora satisfies the properties`() async throws {
        for (name, bytes) in try corpus("parser") {
            #expect(await violation(of: bytes, boundary: "B") == nil, "\(name)")
        }
        for (name, bytes) in try corpus("form") { #expect(await formViolation(of: bytes) == nil, "\(name)") }
    }

    @Test func `a random form is refused for a reason or read back unchanged`() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("RoundTripTests seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let words = ["\r", "\n", "\"", "\\", "%22", "%0D", "B", "--B", "\r\n--", "身", "e\u{301}", ";", " ", "\0", "a"]
        var built = 0
        for _ in 0..<200 {
            // Two parts: choices, then pieces of text with their lengths.
            var input: [UInt8] = [UInt8.random(in: 0...2, using: &generator), 2]
            for _ in 0..<14 {
                let text = (0..<Int.random(in: 0..<6, using: &generator)).map { _ in
                    words.randomElement(using: &generator)!
                }.joined()
                input += [UInt8(text.utf8.count)] + text.utf8 + [UInt8.random(in: 0...1, using: &generator)]
            }
            let broken = await formViolation(of: input)
            #expect(broken == nil, "seed \(seed), \(input)")
            if (try? await PlannedForm(input).form.prepared()) != nil { built += 1 }
        }
        #expect(built > 0, "seed \(seed): hardly a form was built")
    }

    private func corpus(_ name: String) throws -> [(String, [UInt8])] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../Fuzz/Corpus/\(name)", directoryHint: .isDirectory)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)).sorted()
        #expect(names.count >= 10)
        return try names.map { ($0, Array(try Data(contentsOf: folder.appending(path: $0)))) }
    }
}
