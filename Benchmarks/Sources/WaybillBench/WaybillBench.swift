import Glibc

/// Measures what has no peer or can be counted only in the process. `Transport/bench.py` measures the rest.
///
///     waybill-bench [--rounds 5] [parser-memory] [outbox]
@main
struct WaybillBench {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            if words.first == OutboxStep.name { runStep(words.dropFirst()) }
            let options = try Options(words)
            if options.names.contains("parser-memory") { print(try ParserMemory.measure(), terminator: "\n\n") }
            if options.names.contains("outbox") {
                print(try OutboxBench(sink: try Sink(), rounds: options.rounds).measure(), terminator: "\n\n")
            }
        } catch {
            fail(error)
        }
    }

    /// The mode in which this program starts itself as the measured process.
    private static func runStep(_ words: ArraySlice<String>) -> Never {
        Task.detached {
            do {
                try await OutboxStep(words).run()
                exit(0)
            } catch {
                fail(error)
            }
        }
        while true { pause() }
    }

    private static func fail(_ error: any Error) -> Never {
        let message = Array("waybill-bench: \(error)\n".utf8)
        write(STDERR_FILENO, message, message.count)
        exit(1)
    }
}

/// The options of the command line.
struct Options {
    var rounds = 5
    var names = Self.workloads
    private static let workloads: Set<String> = ["parser-memory", "outbox"]

    init(_ arguments: [String]) throws(BenchError) {
        var rest = arguments[...]
        var chosen: Set<String> = []
        while let word = rest.popFirst() {
            switch word {
            case "--rounds":
                guard let value = rest.popFirst().flatMap({ Int($0) }), value > 0 else {
                    throw BenchError("--rounds must be a number above 0.")
                }
                rounds = value
            case _ where Self.workloads.contains(word): chosen.insert(word)
            default:
                let known = Self.workloads.sorted().joined(separator: ", ")
                throw BenchError("\(word) is unknown. Use --rounds N, \(known).")
            }
        }
        if !chosen.isEmpty { names = chosen }
    }
}
