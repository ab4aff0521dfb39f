import Waybill

/// The summary of many files that were sent: of `post --each` and of `put`.
struct FilesSummary: Sendable {
    /// How the upload of a file ended.
    enum Ending: String, Sendable { case succeeded, failed, cancelled }

    /// How many files were named.
    let files: Int
    /// What happened to those that succeeded: `accepted`, `stored`.
    let verb: String
    private(set) var succeeded = 0
    private(set) var failed = 0
    private(set) var cancelled = 0
    /// The failure of the first file, in the order of the files.
    private var first: (index: Int, exit: Exit)?
    /// Acknowledged body bytes.
    var acknowledged: Int64 = 0
    var time: Duration = .zero
    /// The signal that stopped the command, if one did.
    var signal: Int32?

    init(files: Int, verb: String) { (self.files, self.verb) = (files, verb) }

    /// Adds a file that has ended. `exit` includes what failed after the upload, such as writing the response.
    mutating func add(_ index: Int, _ ending: Ending, exit: Exit) {
        switch ending {
        case .succeeded: succeeded += 1
        case .failed: failed += 1
        // It has not failed: another file did, or a signal came.
        case .cancelled:
            cancelled += 1
            return
        }
        if exit != .done, first.map({ index < $0.index }) ?? true { first = (index, exit) }
    }

    /// Files that were never started.
    var notStarted: Int { files - succeeded - failed - cancelled }

    /// How the command ends: by the signal, if it kept files from being sent, else as the first file that failed.
    var exit: Exit {
        if let signal, cancelled + notStarted > 0 { return .signal(signal) }
        return first?.exit ?? (succeeded == files ? .done : .interrupted)
    }

    /// `12 of 12 files accepted, 3.4 MiB in 5.1 s`, or `9 of 12 files stored, 3.4 MiB in 5.1 s: 1 failed, 2 not started`.
    var line: String {
        let rest = Figures.counts([(failed, "failed"), (cancelled, "cancelled"), (notStarted, "not started")])
        return "\(succeeded) of \(Figures.count(files, "file")) \(verb), \(ByteCount(bytes: acknowledged)) in "
            + Figures.seconds(time) + (rest.isEmpty ? "" : ": \(rest)")
    }

    /// Writes the last line, as JSON if `listener` is there, and returns the exit status.
    func finish(_ console: Console, _ listener: JSONOutput?, isQuiet: Bool) -> Exit {
        var exit = exit
        if let listener {
            exit = console.deliver(exit) { () throws(CommandFailure) in
                try listener.write("summary", JSONObject(self))
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
            "succeeded": summary.succeeded, "failed": summary.failed, "cancelled": summary.cancelled,
            "notStarted": summary.notStarted, "acknowledged": summary.acknowledged, "seconds": summary.time,
            "signal": summary.signal,
        ]
    }
}
