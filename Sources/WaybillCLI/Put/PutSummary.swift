import Waybill
import WaybillStores

/// What became of all files of a `put` together.
struct PutSummary: Sendable {
    let files: Int
    private(set) var succeeded = 0
    private(set) var failed = 0
    private(set) var cancelled = 0
    /// The failure of the first file, in the order of the files.
    private var first: (index: Int, exit: Exit)?
    /// Bytes that arrived.
    var acknowledged: Int64 = 0
    var time: Duration = .zero
    /// The signal that asked for the end, if one did.
    var signal: Int32?

    init(files: Int) { self.files = files }

    /// Takes in how a file ended: the upload, and what its output made of that.
    mutating func add(_ index: Int, _ report: PutReport, exit: Exit) {
        switch report.result {
        case .success: succeeded += 1
        case .failure(let error) where error.isCancelled:
            cancelled += 1
            return
        case .failure: failed += 1
        }
        if exit != .done, first.map({ index < $0.index }) ?? true { first = (index, exit) }
    }

    /// Files whose turn never came.
    var notStarted: Int { files - succeeded - failed - cancelled }

    /// How the command ends: by the signal, if it kept files from being sent, else as the first file that failed.
    var exit: Exit {
        if let signal, cancelled + notStarted > 0 { return .signal(signal) }
        return first?.exit ?? (succeeded == files ? .done : .interrupted)
    }

    /// `12 of 12 files stored, 3.4 MiB in 5.1 s`.
    var line: String {
        let head = "\(succeeded) of \(files) \(files == 1 ? "file" : "files") stored, \(ByteCount(bytes: acknowledged))"
        let rest = [(failed, "failed"), (cancelled, "cancelled"), (notStarted, "not started")].filter { $0.0 > 0 }
        let tail = rest.isEmpty ? "" : ": " + rest.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return "\(head) in \(SummaryText.seconds(time))\(tail)"
    }

    var members: [JSONMember] {
        let result =
            switch exit {
            case .done: "succeeded"
            case .interrupted, .terminated: "cancelled"
            default: "failed"
            }
        return [
            JSONMember("result", .string(result)), JSONMember("exit", .int(Int64(exit.rawValue))),
            JSONMember("files", .int(Int64(files))), JSONMember("succeeded", .int(Int64(succeeded))),
            JSONMember("failed", .int(Int64(failed))), JSONMember("cancelled", .int(Int64(cancelled))),
            JSONMember("notStarted", .int(Int64(notStarted))), JSONMember("acknowledged", .int(acknowledged)),
            JSONMember("seconds", .double(SummaryText.value(time))),
            JSONMember("signal", .int(orNull: signal.map(Int64.init))),
        ]
    }
}
