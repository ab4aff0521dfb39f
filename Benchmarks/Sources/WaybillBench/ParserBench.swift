import Glibc
import Waybill

/// How fast forms are parsed, by processor time, next to defnull's `multipart` for Python and Go's `mime/multipart`.
///
/// Every figure is of a process of its own, started in turn. Each parses a form with one file whose content comes from
/// memory in chunks and is counted and thrown away.
enum ParserBench {
    /// As long as those of browsers.
    static let boundary = "----WebKitFormBoundary7MA4YWxkTrZu0gW1"

    private struct Content {
        var name: String
        var chunk = 65_536
        var total = 512 << 20
        /// At least so many times the figure of another, or of ours for random data.
        var target: Target
        var block: [UInt8]
    }

    private enum Target {
        case peers
        case ownRandom(Double)
        case megabytes(Double)
    }

    static func measure(rounds: Int) throws(BenchError) -> String {
        let python = pythonPath
        let go = try goProgram()
        var table = Table(
            ["Parser, \(rounds) rounds, MB per second of CPU", "waybill", "defnull", "ratio", "Go", "ratio", "target"])
        var random = Double.nan
        for content in contents {
            let file = try TemporaryFile(byteCount: 0, isWarm: false)
            try file.write(content.block)
            let words = [file.path, boundary, "\(content.chunk)"]
            var figures: [[Double]] = [[], [], []]
            for _ in 0..<rounds {
                let total = "\(content.total)"
                figures[0].append(
                    try figure(Child.run(Child.ownPath, [Errand.Kind.parse.rawValue] + words + [total])))
                // At one byte a chunk the others would take minutes.
                let theirs = content.chunk == 1 ? "\(content.total / 16)" : total
                if let python {
                    figures[1].append(
                        try figure(Child.run(python, [peer("parse.py")] + words + [theirs])))
                }
                if let go { figures[2].append(try figure(Child.run(go.path, words + [theirs]))) }
            }
            let ours = figures[0].median
            if random.isNaN { random = ours }
            table.add(row(content, ours, figures[1].median, figures[2].median, random))
        }
        var notes = ""
        if python == nil { notes += "\nWithout defnull/multipart: run make setup." }
        if go == nil { notes += "\nWithout Go, which is not installed." }
        return table.text + notes
    }

    private static func row(
        _ content: Content, _ ours: Double, _ python: Double, _ go: Double, _ random: Double
    ) -> [String] {
        let target: String
        let isMet: Bool
        switch content.target {
        case .peers:
            target = ">= 1.50, 2.00"
            isMet = !(ours / python < 1.5) && !(ours / go < 2)
        case .ownRandom(let share):
            target = ">= \(share.fixed(2)) of random, is \((ours / random).fixed(2))"
            isMet = ours / random >= share
        case .megabytes(let least):
            target = ">= \(least.fixed(0)) MB/s"
            isMet = ours >= least
        }
        func shown(_ figure: Double, _ digits: Int) -> String { figure.isNaN ? "-" : figure.fixed(digits) }
        return [
            content.name, ours.fixed(0), shown(python, 0), shown(ours / python, 2), shown(go, 0), shown(ours / go, 2),
            target + (isMet ? "" : " missed"),
        ]
    }

    private static var contents: [Content] {
        let size = 1 << 20
        var generator = SplitMix(state: 42)
        let random = (0..<size).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
        let printable = random.map { 32 + $0 % 95 }
        func filled(_ text: String) -> [UInt8] {
            let bytes = Array(text.utf8)
            return (0..<size).map { bytes[$0 % bytes.count] }
        }
        let delimiter = "\r\n--\(boundary)"
        return [
            Content(name: "random", target: .peers, block: random),
            Content(name: "printable", target: .peers, block: printable),
            Content(name: "all CRLF", target: .peers, block: filled("\r\n")),
            Content(
                name: "hostile: boundary and junk", target: .ownRandom(0.5), block: filled(delimiter + "x")),
            Content(
                name: "hostile: boundary, blanks, junk", target: .ownRandom(0.5), block: filled(delimiter + " \tx")),
            Content(
                name: "hostile: boundary and a dash", target: .ownRandom(0.5), block: filled(delimiter + "-x")),
            Content(
                name: "hostile: all but the last byte", target: .ownRandom(0.5),
                block: filled(String(delimiter.dropLast()))),
            Content(name: "hostile: CR only", target: .ownRandom(0.5), block: filled("\r")),
            Content(
                name: "1-byte chunks, random", chunk: 1, total: 64 << 20, target: .megabytes(20), block: random),
            Content(
                name: "1-byte chunks, all CRLF", chunk: 1, total: 64 << 20, target: .megabytes(20),
                block: filled("\r\n")),
            Content(
                name: "1-byte chunks, hostile", chunk: 1, total: 64 << 20, target: .megabytes(20),
                block: filled(delimiter + "x")),
        ]
    }

    /// What the measured process does: `FILE BOUNDARY CHUNK TOTAL`.
    static func parse(_ path: String, boundary: String, chunk: Int, total: Int) throws -> Double {
        let block = try TemporaryFile.contents(path)
        let head = Array("--\(boundary)\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n".utf8)
        var counter = ByteCounter()
        var fed = 0
        let started = processorTime
        var parser = try MultipartParser(boundary: boundary)
        try parser.feed(head.span, to: &counter)
        while fed < total {
            var start = 0
            while start < block.count, fed < total {
                let end = min(block.count, start + chunk)
                try parser.feed(block.span.extracting(start..<end), to: &counter)
                fed += end - start
                start = end
            }
        }
        try parser.feed(Array("\r\n--\(boundary)--\r\n".utf8).span, to: &counter)
        try parser.finish()
        let elapsed = processorTime - started
        guard counter.count == fed else { throw BenchError("\(counter.count) bytes came out of \(fed).") }
        return Double(fed) / elapsed.seconds / 1e6
    }

    /// What this process has used of the processors: on a machine that does other things too, the clock on the wall says
    /// nothing.
    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private struct ByteCounter: MultipartHandler {
        var count = 0
        mutating func partBegan(_ head: MultipartPartHead) {}
        mutating func partData(_ bytes: Span<UInt8>) { count += bytes.count }
        mutating func partEnded() {}
    }

    private struct SplitMix {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private static func figure(_ run: Run) throws(BenchError) -> Double {
        guard let figure = Double(run.output.filter { !$0.isWhitespace }) else {
            throw BenchError("\(run.output) is no figure.")
        }
        return figure
    }

    private static func peer(_ name: String) -> String { "\(root)/Benchmarks/Peers/\(name)" }

    private static var root: String {
        "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    }

    /// The Python that `make setup` has given the package.
    private static var pythonPath: String? {
        guard let run = try? Child.run("\(root)/Scripts/readers", ["where"]) else { return nil }
        return run.output.filter { !$0.isNewline } + "/bin/python"
    }

    private static func goProgram() throws(BenchError) -> TemporaryFile? {
        guard Child.isInstalled("go") else { return nil }
        let program = try TemporaryFile(byteCount: 0, isWarm: false)
        _ = try Child.run(
            "env", ["GO111MODULE=off", "CGO_ENABLED=0", "go", "build", "-o", program.path, peer("parse.go")])
        chmod(program.path, 0o700)
        return program
    }
}

extension TemporaryFile {
    func write(_ bytes: [UInt8]) throws(BenchError) {
        guard let file = fopen(path, "wb"), fwrite(bytes, 1, bytes.count, file) == bytes.count, fclose(file) == 0 else {
            throw BenchError("\(path) can't be written (errno \(errno)).")
        }
    }

    static func contents(_ path: String) throws(BenchError) -> [UInt8] {
        guard let file = fopen(path, "rb") else { throw BenchError("\(path) can't be read (errno \(errno)).") }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }
}
