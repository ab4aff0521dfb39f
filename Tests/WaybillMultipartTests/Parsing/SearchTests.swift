import Testing

@testable import WaybillMultipart

/// The fast search finds the same as the plain one, and the parser buffers no more than necessary.
@Suite struct SearchTests {
    static let boundaries = [
        "B", "-", "------", "x-", "----WebKitFormBoundary7MA4YWxk", String(repeating: "-", count: 70),
    ]

    @Test(arguments: boundaries)
    func `the fast search and the plain one agree`(boundary: String) {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let delimiter = Array("\r\n--\(boundary)".utf8)
        let pieces =
            [delimiter, Array(delimiter.dropLast()), Array(delimiter.dropFirst(2))]
            + ["\r", "\n", "\r\n", "-", "--", " ", "\t", "x", "\r\n--", "     "].map { Array($0.utf8) }
        for _ in 0..<3_000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0..<24, using: &generator) { bytes += pieces.randomElement(using: &generator)! }
            let start = Int.random(in: 0...bytes.count, using: &generator)
            let fast = ByteSearch.find(delimiter: delimiter, in: bytes.span, from: start, padding: 4)
            let plain = ByteSearch.find(delimiter: delimiter, in: bytes.span, from: start, padding: 4, isPlain: true)
            #expect(fast == plain, "seed \(seed), from \(start): \(bytes)")
        }
    }

    @Test(arguments: boundaries)
    func `content that resembles delimiters does not mislead the fast search`(boundary: String) {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let delimiter = Array("\r\n--\(boundary)".utf8)
        for _ in 0..<300 {
            // Long enough for the search to adapt: the same or nearly the same repeatedly, then something else.
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let unit = nearDelimiter(delimiter, &generator)
                for _ in 0..<Int.random(in: 1...30, using: &generator) { bytes += unit }
                bytes += [UInt8](repeating: UInt8(ascii: "x"), count: Int.random(in: 0...40, using: &generator))
            }
            if Bool.random(using: &generator) {
                bytes += delimiter + Array(["--", "\r\n", " \t\r\n", ""].randomElement(using: &generator)!.utf8)
                bytes += [UInt8](repeating: UInt8(ascii: "x"), count: Int.random(in: 0...300, using: &generator))
            }
            let padding = Int.random(in: 0...60, using: &generator)
            let fast = ByteSearch.find(delimiter: delimiter, in: bytes.span, from: 0, padding: padding)
            let plain = ByteSearch.find(delimiter: delimiter, in: bytes.span, from: 0, padding: padding, isPlain: true)
            #expect(fast == plain, "seed \(seed), padding \(padding): \(bytes)")
        }
    }

    @Test(arguments: boundaries)
    func `a delimiter after a repeated pattern is found, whatever the period`(boundary: String) {
        let delimiter = Array("\r\n--\(boundary)".utf8)
        let tail = [UInt8](repeating: UInt8(ascii: "x"), count: 300)
        for period in 1...(delimiter.count + 24) {
            // A prefix of the delimiter, or the delimiter with spaces and a byte that makes it content.
            let blanks = [UInt8](repeating: UInt8(ascii: " "), count: max(0, period - delimiter.count))
            for junk in blanks.isEmpty ? [""] : ["", "x", "-"] {
                let unit = Array(delimiter.prefix(period)) + blanks.dropLast(junk.utf8.count) + Array(junk.utf8)
                for times in 4...12 {
                    let bytes = (0..<times).flatMap { _ in unit } + delimiter + Array("\r\n".utf8) + tail
                    let fast = ByteSearch.find(delimiter: delimiter, in: bytes.span, from: 0, padding: 30)
                    let plain = ByteSearch.find(
                        delimiter: delimiter, in: bytes.span, from: 0, padding: 30, isPlain: true)
                    #expect(fast == plain && plain != nil, "period \(period), \(times) times, \(junk)")
                }
            }
        }
    }

    /// Returns bytes that are expensive for a search and usually not a delimiter.
    private func nearDelimiter(_ delimiter: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: return delimiter + Array(["x", "-x", " \tx", "\rx", "", "\n"].randomElement(using: &generator)!.utf8)
        case 1:
            let blanks = [UInt8](repeating: UInt8(ascii: " "), count: Int.random(in: 0...80, using: &generator))
            return delimiter + blanks + [UInt8(ascii: "x")]
        case 2:
            var wrong = delimiter
            wrong[Int.random(in: wrong.indices, using: &generator)] ^= 1
            return wrong
        case 3:
            // A prefix with the last byte at the position determined by the period.
            let period = Int.random(in: 2...20, using: &generator)
            var beginning = Array(delimiter.prefix(period))
            beginning[(delimiter.count - 1) % beginning.count] = delimiter[delimiter.count - 1]
            return beginning
        default: return Array(delimiter.dropLast())
        }
    }

    @Test func `the search examines the bytes after a delimiter and accepts undecided ones`() {
        func place(_ text: String) -> Int? {
            ByteSearch.find(delimiter: Array("\r\n--B".utf8), in: Array(text.utf8).span, from: 0, padding: 4)
        }
        let long = String(repeating: "x", count: 40)
        for following in ["", "-", "--", "--x", "\r", "\r\n", " ", "    ", "     x", " \t\r", " \r\n"] {
            #expect(place("\(long)\r\n--B\(following)") == 40, "\(following.debugDescription)")
        }
        for following in ["x", "-x", "\rx", "\n", " x", "    x", " -", "\0"] {
            #expect(place("\(long)\r\n--B\(following)") == nil, "\(following.debugDescription)")
            #expect(place("\r\n--B\(following)\(long)\r\n--B") == 45 + following.utf8.count)
        }
    }

    @Test func `at most a delimiter, its padding and two bytes are held back`() throws {
        var limits = MultipartLimits()
        limits.paddingBytes = 7
        let head = Array("--B\r\nContent-Disposition: form-data; name=a\r\n\r\n".utf8)
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let pieces = ["\r\n--B", "\r\n--B       ", "\r\n--B-", "\r\n", "\r", "\r\n--", "x", " ", "\r\n--B  \r"]
        var handler = ByteCounter()
        for _ in 0..<400 {
            var parser = try MultipartParser(boundary: "B", limits: limits)
            try parser.feed(head.span, to: &handler)
            handler.count = 0
            var fed = 0
            for _ in 0..<30 {
                var chunk: [UInt8] = []
                for _ in 0..<Int.random(in: 1..<4, using: &generator) {
                    chunk += pieces.randomElement(using: &generator)!.utf8
                }
                do { try parser.feed(chunk.span, to: &handler) } catch { break }
                fed += chunk.count
                #expect(parser.heldBack <= "\r\n--B".utf8.count + 7 + 2, "seed \(seed)")
                if handler.hasEnded { break }
                // No byte is lost in between: it was delivered or is held back.
                #expect(handler.count + parser.heldBack == fed, "seed \(seed)")
            }
            handler.hasEnded = false
        }
    }

    private struct ByteCounter: MultipartHandler {
        var count = 0
        var hasEnded = false
        mutating func partBegan(_ head: MultipartPartHead) {}
        mutating func partData(_ bytes: Span<UInt8>) { count += bytes.count }
        mutating func partEnded() { hasEnded = true }
    }

    @Test(arguments: [1, 3, 100, 65_536])
    func `content is delivered in place, without a copy`(piece: Int) throws {
        var parser = try MultipartParser(boundary: "B")
        var handler = PlaceChecker()
        try parser.feed(
            Array("--B\r\nContent-Disposition: form-data; name=a; filename=b\r\n\r\n.".utf8).span, to: &handler)
        let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: piece)
        unsafe chunk.withUnsafeBufferPointer { handler.expected = UInt(bitPattern: $0.baseAddress) }
        for _ in 0..<50 { try parser.feed(chunk.span, to: &handler) }
        #expect(handler.calls == 51 && handler.hits == 50)
    }

    private struct PlaceChecker: MultipartHandler {
        var expected: UInt = 0
        var calls = 0
        var hits = 0
        mutating func partBegan(_ head: MultipartPartHead) {}
        mutating func partData(_ bytes: Span<UInt8>) {
            calls += 1
            let place = unsafe bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
            if place == expected { hits += 1 }
        }
        mutating func partEnded() {}
    }
}
