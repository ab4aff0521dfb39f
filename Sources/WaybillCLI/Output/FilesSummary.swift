import Waybill

/// The summary of several sent files, for `post --each` and `put`.
struct FilesSummary: Sendable {
    /// The result of the upload of a file.
    enum Ending: String, Sendable { case succeeded, skipped, failed, cancelled }

    /// The number of given files.
    let files: Int
    /// The verb for successful uploads: `accepted`, `stored`.
    let verb: String
    private(set) var succeeded = 0
    /// The number of files that were not sent because the store has the same objects.
    private(set) var skipped = 0
    private(set) var failed = 0
    private(set) var cancelled = 0
    /// The first failure, in the order of the files.
    private var first: (index: Int, exit: Exit)?
    /// The number of acknowledged body bytes.
    var acknowledged: Int64 = 0
    var time: Duration = .zero
    /// The signal that stopped the command, if any.
    var signal: Int32?

    init(files: Int, verb: String) { (self.files, self.verb) = (files, verb) }

    /// Adds a file that has ended. `exit` includes failures after the upload, such as a response that can't be written.
    mutating func add(_ index: Int, _ ending: Ending, exit: Exit) {
        switch ending {
        case .succeeded: succeeded += 1
        case .skipped: skipped += 1
        case .failed: failed += 1
        // Not a failure of this file: another file failed, or a signal arrived.
        case .cancelled:
            cancelled += 1
            return
        }
        if exit != .done, first.map({ index < $0.index }) ?? true { first = (index, exit) }
    }

    /// The number of files that were never started.
    var notStarted: Int { files - succeeded - skipped - failed - cancelled }

    /// The exit status: of the signal if it kept files from being sent, otherwise of the first failed file.
    var exit: Exit {
        if let signal, cancelled + notStarted > 0 { return .signal(signal) }
        return first?.exit ?? (succeeded + skipped == files ? .done : .interrupted)
    }

    /// The summary line: `12 of 12 files accepted, 3.4 MiB in 5.1 s`, or `9 of 12 files stored, 3.4 MiB in 5.1 s: 1
    /// failed, 2 not started`.
    var line: String {
        let rest = Figures.counts([
            (skipped, "skipped"), (failed, "failed"), (cancelled, "cancelled"), (notStarted, "not started"),
        ])
        return "\(succeeded) of \(Figures.count(files, "file")) \(verb), \(ByteCount(bytes: acknowledged)) in "
            + Figures.seconds(time) + (rest.isEmpty ? "" : ": \(rest)")
    }

    /// Writes the summary, as JSON if `jsonOutput` is set, and returns the exit status.
    func finish(_ console: Console, _ jsonOutput: JSONOutput?, isQuiet: Bool) -> Exit {
        var exit = exit
        if let jsonOutput {
            exit = console.deliver(exit) { () throws(CommandFailure) in
                try jsonOutput.write("summary", JSONObject(self))
            }
        }
        if exit != .done {
            console.failure(line)
        } else if !isQuiet {
            console.line("done: \(line)")
        }
        return exit
    }
}

extension JSONObject {
    init(_ summary: FilesSummary) {
        self = [
            "result": summary.exit.result, "exit": summary.exit, "files": summary.files,
            "succeeded": summary.succeeded, "skipped": summary.skipped, "failed": summary.failed,
            "cancelled": summary.cancelled,
            "notStarted": summary.notStarted, "acknowledged": summary.acknowledged, "seconds": summary.time,
            "signal": summary.signal,
        ]
    }
}
