import CBench
import Waybill

/// Measures the allocations of the parser at malloc(3) in this thread.
///
/// Content must need no allocation, whatever its bytes and chunks, and the peak memory must be below the header limit
/// plus a boundary plus 64 KiB.
enum ParserMemory {
    private static let boundary = String(repeating: "b", count: 70)

    /// A body in three pieces: the bytes before the content of the last part, that content, and the end.
    private struct Body {
        var name: String
        var head: [UInt8]
        /// The content, which is fed repeatedly.
        var content: [UInt8]
        var times = 1
    }

    static func measure() throws(BenchError) -> String {
        var table = Table(["Parser", "chunk", "content fed", "allocations for it", "peak memory", "target"])
        let limit = MultipartLimits().headerBytes + boundary.utf8.count + 65_536
        for body in bodies {
            for chunk in [1, 17, 4_096, 65_536, 1 << 20] {
                let found: bench_allocations
                let forContent: Int
                do {
                    (found, forContent) = try count(body, chunk: chunk)
                } catch {
                    throw BenchError("\(body.name): \(error)")
                }
                let isMet = forContent == 0 && found.peak <= limit
                table.add([
                    body.name, "\(chunk)", "\(body.content.count * body.times)", "\(forContent)", "\(found.peak) bytes",
                    "0, <= \(limit)" + (isMet ? "" : " missed"),
                ])
            }
        }
        return table.text
    }

    private static func count(_ body: Body, chunk: Int) throws -> (all: bench_allocations, forContent: Int) {
        var counter = Counter()
        let end = Array("\r\n--\(boundary)--\r\n".utf8)
        bench_count_allocations()
        defer { bench_stop_counting_allocations() }
        var parser = try MultipartParser(boundary: boundary)
        func feed(_ bytes: [UInt8]) throws {
            var start = 0
            while start < bytes.count {
                let stop = min(bytes.count, start + chunk)
                try parser.feed(bytes.span.extracting(start..<stop), to: &counter)
                start = stop
            }
        }
        try feed(body.head)
        let before = bench_counted_allocations().count
        for _ in 0..<body.times { try feed(body.content) }
        let forContent = bench_counted_allocations().count - before
        try feed(end)
        try parser.finish()
        let all = bench_counted_allocations()
        guard counter.bytes == body.content.count * body.times else {
            throw BenchError("The parser returned \(counter.bytes) bytes.")
        }
        return (all, forContent)
    }

    private static var bodies: [Body] {
        let size = 1 << 20
        var state: UInt64 = 42
        let random = (0..<size).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
        func filled(_ text: String) -> [UInt8] {
            let bytes = Array(text.utf8)
            return (0..<size).map { bytes[$0 % bytes.count] }
        }
        let delimiter = "\r\n--\(boundary)"
        let plain = part(headers: [])
        return [
            Body(name: "random", head: plain, content: random, times: 4),
            Body(name: "all CRLF", head: plain, content: filled("\r\n"), times: 4),
            Body(name: "boundary and junk", head: plain, content: filled(delimiter + "x"), times: 4),
            Body(
                name: "boundary, 120 blanks, junk", head: plain,
                content: filled(delimiter + String(repeating: " ", count: 120) + "x"), times: 4),
            Body(name: "headers at their limit", head: part(headers: largest), content: random),
            Body(name: "one header line at its limit", head: part(headers: [longest]), content: random),
            Body(name: "names at their limit", head: Array(named.utf8), content: random),
            Body(
                name: "500 parts, headers at their limit",
                head: (0..<500).flatMap { _ in part(headers: largest) + Array("\r\n".utf8) } + part(headers: largest),
                content: random),
        ]
    }

    private static let disposition = "Content-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n"

    /// The largest headers that the limits of lines and bytes allow.
    private static var largest: [String] {
        let lines = MultipartLimits().headerLines - 1
        let left = MultipartLimits().headerBytes - disposition.utf8.count
        return (0..<lines).map { line in
            let count = line == 0 ? left - (lines - 1) * (left / lines) : left / lines
            return "X: " + String(repeating: "x", count: count - 5) + "\r\n"
        }
    }

    private static var longest: String {
        "X: " + String(repeating: "x", count: MultipartLimits().headerBytes - disposition.utf8.count - 5) + "\r\n"
    }

    private static var named: String {
        let bare = "Content-Disposition: form-data; name=\"\"; filename=\"\"\r\n"
        let name = String(repeating: "x", count: (MultipartLimits().headerBytes - bare.utf8.count) / 2)
        let line = "Content-Disposition: form-data; name=\"\(name)\"; filename=\"\(name)\"\r\n"
        return "--\(boundary)\r\n\(line)\r\n"
    }

    private static func part(headers: [String]) -> [UInt8] {
        Array("--\(boundary)\r\n\(disposition)\(headers.joined())\r\n".utf8)
    }

    private struct Counter: MultipartHandler {
        var bytes = 0
        mutating func partBegan(_ head: MultipartPartHead) {}
        mutating func partData(_ bytes: Span<UInt8>) { self.bytes += bytes.count }
        mutating func partEnded() {}
    }
}
