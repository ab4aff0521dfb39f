import Glibc
import Waybill

/// What is measured. Every figure comes from processes of its own, started in turn (A B A B …), so that a noisy minute
/// hits both sides, and is the median of the rounds.
struct Workloads {
    var sink: Sink
    var rounds: Int
    var size: ByteCount
    /// How many small forms are sent in a row.
    var count: Int

    var url: String { "http://127.0.0.1:\(sink.port)/" }

    /// A form with three fields and one large file: time and memory, next to `curl -F`.
    func form() throws(BenchError) -> String {
        let file = try TemporaryFile(byteCount: Int(size.bytes), isWarm: true)
        var ours: [Run] = []
        var theirs: [Run] = []
        for _ in 0..<rounds {
            ours.append(try post(file.path, atLeast: size))
            theirs.append(try postWithCurl(file.path, atLeast: size))
        }
        var table = Table(["Form with a file of \(size), \(rounds) rounds", "waybill", "curl -F", "ratio", "target"])
        table.add(compare("wall", "s", ours, theirs, target: 0.60) { $0.wall.seconds })
        table.add(compare("CPU, user and system", "s", ours, theirs, target: 0.60) { $0.cpu.seconds })
        table.add(compare("peak memory", "MB", ours, theirs, target: nil) { Double($0.peakMemory) / 1e6 })
        return table.text
    }

    /// A large form with somebody watching, and with nobody: watching must cost next to nothing.
    func progress() throws(BenchError) -> String {
        let file = try TemporaryFile(byteCount: Int(size.bytes), isWarm: true)
        var watched: [Run] = []
        var unwatched: [Run] = []
        for _ in 0..<rounds {
            watched.append(try post(file.path, atLeast: size, errand: .watch))
            unwatched.append(try post(file.path, atLeast: size))
        }
        var table = Table(["Form with a file of \(size), \(rounds) rounds", "watched", "unwatched", "ratio", "target"])
        table.add(compare("wall", "s", watched, unwatched, target: 1.03) { $0.wall.seconds })
        table.add(compare("CPU, user and system", "s", watched, unwatched, target: 1.03) { $0.cpu.seconds })
        return table.text
    }

    /// Forms with a file of 100 KB, one after the other on one connection, next to libcurl's mime API in C.
    func small() throws(BenchError) -> String {
        let file = try TemporaryFile(byteCount: 100_000, isWarm: true)
        var ours: [Run] = []
        var theirs: [Run] = []
        let program = String(Child.ownPath.prefix(upTo: Child.ownPath.lastIndex(of: "/")!)) + "/CurlMime"
        for _ in 0..<rounds {
            ours.append(try counted(Child.run(Child.ownPath, [Errand.Kind.many.rawValue, url, file.path, "\(count)"])))
            theirs.append(try counted(Child.run(program, [url, file.path, "\(count)"])))
        }
        var table = Table([
            "\(count) forms of 100 KB in a row, \(rounds) rounds", "waybill", "mime in C", "ratio", "target",
        ])
        table.add(compare("wall", "s", ours, theirs, target: 1.0) { $0.wall.seconds })
        table.add(compare("CPU, user and system", "s", ours, theirs, target: nil) { $0.cpu.seconds })
        table.add(compare("peak memory", "MB", ours, theirs, target: nil) { Double($0.peakMemory) / 1e6 })
        return table.text
    }

    /// The same by instructions, which no noise of the machine moves: what one form more costs, in user space, counted by
    /// callgrind as the difference between two runs.
    func instructions() throws(BenchError) -> String {
        guard Child.isInstalled("valgrind") else {
            return "Instructions of a small upload: not counted, for valgrind is not installed."
        }
        let file = try TemporaryFile(byteCount: 100_000, isWarm: true)
        let mime = String(Child.ownPath.prefix(upTo: Child.ownPath.lastIndex(of: "/")!)) + "/CurlMime"
        func each(_ original: String, _ words: [String]) throws(BenchError) -> Double {
            let program = try Child.withoutDebugInformation(original)
            let few = try Child.instructions(program.path, words + [url, file.path, "50"])
            let many = try Child.instructions(program.path, words + [url, file.path, "150"])
            return Double(many - few) / 100_000
        }
        let ours = try each(Child.ownPath, [Errand.Kind.many.rawValue])
        let theirs = try each(mime, [])
        var table = Table(["One form of 100 KB more", "waybill", "mime in C", "ratio", "target"])
        table.add([
            "instructions, user space", ours.fixed(0) + " k", theirs.fixed(0) + " k", (ours / theirs).fixed(2), "",
        ])
        return table.text
    }

    private func counted(_ run: Run) throws(BenchError) -> Run {
        guard Int(run.output.filter(\.isNumber)) == count else {
            throw BenchError("\(run.output) answers came where \(count) were expected.")
        }
        return run
    }

    private func post(_ path: String, atLeast size: ByteCount, errand: Errand.Kind = .once) throws(BenchError) -> Run {
        try checked(Child.run(Child.ownPath, [errand.rawValue, url, path]), by: "waybill", atLeast: size)
    }

    private func postWithCurl(_ path: String, atLeast size: ByteCount) throws(BenchError) -> Run {
        let fields = Form.fields.flatMap { ["-F", "\($0.name)=\($0.value)"] }
        return try checked(
            Child.run("curl", ["-q", "-sS", "--noproxy", "*"] + fields + ["-F", "FILE=@\(path)", url]), by: "curl",
            atLeast: size)
    }

    /// The sink answers how many bytes came: a run that sent less than the file has measured nothing.
    private func checked(_ run: Run, by name: String, atLeast size: ByteCount) throws(BenchError) -> Run {
        guard let count = Int64(run.output.filter(\.isNumber)), count > size.bytes, count < size.bytes + 10_000 else {
            throw BenchError("\(name) sent \(run.output) bytes where a form with \(size.bytes) was expected.")
        }
        return run
    }

    private func compare(
        _ name: String, _ unit: String, _ ours: [Run], _ theirs: [Run], target: Double?, _ figure: (Run) -> Double
    ) -> [String] {
        let a = ours.map(figure).median
        let b = theirs.map(figure).median
        let digits = unit == "s" ? 3 : 1
        let verdict = target.map { "<= " + $0.fixed(2) + (a / b > $0 ? " missed" : "") } ?? ""
        return [name, a.fixed(digits) + " " + unit, b.fixed(digits) + " " + unit, (a / b).fixed(2), verdict]
    }
}

/// The form that both sides send.
enum Form {
    static let fields = [
        (name: "TOKEN", value: "0123456789abcdef0123456789abcdef"), (name: "BUSINESSNO", value: "20260101-000042"),
        (name: "DOCTYPE", value: "IDCARD"),
    ]

    static func make(_ path: String) -> MultipartForm {
        var form = MultipartForm()
        for field in fields { form.append(.text(field.name, field.value)) }
        form.append(.file("FILE", path: path))
        return form
    }
}
