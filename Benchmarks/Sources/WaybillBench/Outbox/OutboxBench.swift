import Glibc

/// Measures an outbox on this machine's disk: enqueuing, leasing, start and memory.
///
/// Each figure is of a separate process. Steps without a server measure only the queue.
struct OutboxBench {
    var sink: Sink
    var rounds: Int
    /// The number of queued items.
    var waiting = 100_000

    private var url: String { "http://127.0.0.1:\(sink.port)/" }

    func measure() throws(BenchError) -> String {
        var enqueue: [Double] = []
        var forms: [Double] = []
        var singly: [Double] = []
        var grouped: [Double] = []
        var first: [Double] = []
        var syncs: [Double] = []
        for _ in 0..<rounds {
            let directory = try OutboxLocation()
            syncs.append(try directory.syncs())
            enqueue.append(try rate(.enqueue, directory, waiting))
            grouped.append(try rate(.grouped, directory, waiting))
            forms.append(try rate(.enqueueForms, directory, waiting))
            first.append(try run(.first, directory, 1).wall.seconds)
            let another = try OutboxLocation()
            _ = try rate(.enqueue, another, 5_000)
            singly.append(try rate(.singly, another, 5_000))
        }
        var table = Table(["Outbox, synchronous=FULL, \(waiting) items, \(rounds) rounds", "reached", "asked"])
        table.add(["fdatasync of 4 KiB at the end of a file", syncs.median.fixed(0) + " /s", ""])
        table.add(Self.row("enqueue in a batch", enqueue, atLeast: 50_000))
        table.add(Self.row("enqueue in a batch, forms of three fields", forms, atLeast: nil))
        table.add(Self.row("lease and done, one at a time", singly, atLeast: 2_000))
        table.add(Self.row("lease and done, 512 at a time", grouped, atLeast: 50_000))
        let start = first.median
        table.add([
            "from the start of the program to the end of the first upload", start.fixed(3) + " s",
            "< 1 s" + (start < 1 ? "" : " missed"),
        ])
        try memory(&table)
        return table.text
    }

    private func memory(_ table: inout Table) throws(BenchError) {
        let directory = try OutboxLocation()
        let idle = try run(.idle, directory, 0)
        _ = try rate(.enqueueForms, directory, waiting)
        let list = try counted(try run(.list, directory, 0))
        let deliver = try counted(try run(.deliver, directory, 0))
        for (name, run) in [("idle and empty", idle), ("all listed", list), ("all delivered over HTTP", deliver)] {
            let megabytes = Double(run.peakMemory) / 1e6
            let over = Double(run.peakMemory - idle.peakMemory) / 1e6
            let verdict = run.peakMemory == idle.peakMemory ? "" : "<= 60 MB over idle" + (over <= 60 ? "" : " missed")
            table.add(["peak memory, \(name)", megabytes.fixed(1) + " MB", verdict])
        }
        let pace = Double(waiting) / deliver.wall.seconds
        table.add(["delivered over HTTP, 8 slots, 5 in the lane", pace.fixed(0) + " /s", ""])
    }

    private static func row(_ name: String, _ rates: [Double], atLeast limit: Double?) -> [String] {
        let verdict = limit.map { ">= \($0.fixed(0)) /s" + (rates.median < $0 ? " missed" : "") } ?? ""
        return [name, rates.median.fixed(0) + " /s", verdict]
    }

    private func rate(_ step: OutboxStep.Step, _ directory: OutboxLocation, _ count: Int) throws(BenchError) -> Double {
        let output = try run(step, directory, count).output
        guard let seconds = Double(output.split(separator: "\n").first ?? ""), seconds > 0 else {
            throw BenchError("\(step) printed \(output).")
        }
        return Double(count) / seconds
    }

    private func counted(_ run: Run) throws(BenchError) -> Run {
        guard Int(run.output.filter(\.isNumber)) == waiting else {
            throw BenchError("\(run.output) items were found; \(waiting) were expected.")
        }
        return run
    }

    private func run(_ step: OutboxStep.Step, _ directory: OutboxLocation, _ count: Int) throws(BenchError) -> Run {
        try Child.run(
            Child.ownPath, [OutboxStep.name, step.rawValue, directory.path + "/outbox", "\(count)", url])
    }
}

/// A temporary directory for an outbox in `TMPDIR`, removed with the object.
private final class OutboxLocation {
    let path: String

    init() throws(BenchError) {
        let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
        var template = Array("\(directory)/waybill-bench.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw BenchError("A directory cannot be created in \(directory) (errno \(errno)).")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Measures how many small sequential appends per second this disk makes durable.
    func syncs() throws(BenchError) -> Double {
        let file = open(path + "/syncs", O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard file >= 0 else { throw BenchError("A file cannot be created in \(path) (errno \(errno)).") }
        defer { close(file) }
        let block = [UInt8](repeating: 1, count: 4_096)
        let start = ContinuousClock.now
        for _ in 0..<200 {
            guard write(file, block, block.count) == block.count, fdatasync(file) == 0 else {
                throw BenchError("The disk of \(path) fails (errno \(errno)).")
            }
        }
        return 200 / start.duration(to: .now).seconds
    }

    deinit {
        for name in ["outbox/spool", "outbox"] {
            for file in ["queue.db", "queue.db-wal", "queue.db-shm", "lock", "socket"] {
                unlink("\(path)/\(name)/\(file)")
            }
            rmdir("\(path)/\(name)")
        }
        unlink(path + "/syncs")
        rmdir(path)
    }
}
