import CBench
import Glibc
import Waybill

/// Measures Waybill on this machine, beside curl.
///
///     waybill-bench [--rounds 5] [--size 1GiB] [--count 10000] [form] [memory] [progress] [small] [parts] [parser] [parser-memory]
///         [instructions] [batch] [photos] [outbox]
@main
struct WaybillBench {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            guard let errand = Errand(arguments) else { return try measure(Options(arguments)) }
            Task.detached {
                do {
                    try await errand.run()
                    exit(0)
                } catch {
                    fail(error)
                }
            }
            // The first thread stays: an asynchronous main would end it, which valgrind does not survive.
            while true { pause() }
        } catch {
            fail(error)
        }
    }

    private static func fail(_ error: any Error) -> Never {
        let complaint = Array("waybill-bench: \(error)\n".utf8)
        write(STDERR_FILENO, complaint, complaint.count)
        exit(1)
    }

    private static func measure(_ options: Options) throws(BenchError) {
        var isMoved: Int32 = 0
        let code = bench_move_to_private_network(&isMoved)
        guard isMoved == 0 else { throw BenchError("The private network has no loopback device (errno \(code)).") }
        if code != 0 {
            print(
                "Note: no private network with Reno here (errno \(code)); the machine's congestion control may pace.\n")
        }
        let workloads = Workloads(sink: try Sink(), rounds: options.rounds, size: options.size, count: options.count)
        if options.names.contains("form") { print(try workloads.form(), terminator: "\n\n") }
        if options.names.contains("memory") { print(try workloads.memory(), terminator: "\n\n") }
        if options.names.contains("progress") { print(try workloads.progress(), terminator: "\n\n") }
        if options.names.contains("parts") { print(try PartCount.measure(), terminator: "\n\n") }
        if options.names.contains("small") { print(try workloads.small(), terminator: "\n\n") }
        if options.names.contains("parser") {
            print(try ParserBench.measure(rounds: options.rounds), terminator: "\n\n")
        }
        if options.names.contains("parser-memory") { print(try ParserMemory.measure(), terminator: "\n\n") }
        if options.names.contains("batch") { print(try workloads.batches(), terminator: "\n\n") }
        if options.names.contains("photos") { print(try workloads.photos(), terminator: "\n\n") }
        if options.names.contains("outbox") {
            print(try OutboxBench(sink: workloads.sink, rounds: options.rounds).measure(), terminator: "\n\n")
        }
        if options.names.contains("instructions") { print(try workloads.instructions(), terminator: "\n\n") }
    }
}

/// What was asked for on the command line.
struct Options {
    var rounds = 5
    var size: ByteCount = .gibibytes(1)
    var count = 10_000
    var names = Self.workloads
    private static let workloads: Set<String> = [
        "form", "memory", "progress", "small", "parts", "parser", "parser-memory", "instructions", "batch", "photos",
        "outbox",
    ]

    init(_ arguments: [String]) throws(BenchError) {
        var rest = arguments[...]
        var chosen: Set<String> = []
        while let word = rest.popFirst() {
            switch word {
            case "--rounds":
                guard let value = rest.popFirst().flatMap({ Int($0) }), value > 0 else {
                    throw BenchError("--rounds takes a number above 0.")
                }
                rounds = value
            case "--size":
                guard let value = rest.popFirst().flatMap({ ByteCount($0) }), value.bytes > 0 else {
                    throw BenchError("--size takes a size, such as 1GiB.")
                }
                size = value
            case "--count":
                guard let value = rest.popFirst().flatMap({ Int($0) }), value > 0 else {
                    throw BenchError("--count takes a number above 0.")
                }
                count = value
            case _ where Self.workloads.contains(word): chosen.insert(word)
            default:
                let known = Self.workloads.sorted().joined(separator: ", ")
                throw BenchError("\(word)? Known are: --rounds N, --size SIZE, --count N, \(known).")
            }
        }
        if !chosen.isEmpty { names = chosen }
    }
}
