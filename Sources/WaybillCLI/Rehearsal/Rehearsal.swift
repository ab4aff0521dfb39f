import Waybill

/// Where `--dry-run` prints: on standard output, a line or a JSON object each, and the end of it.
struct Rehearsal {
    let console: Console
    let json: JSONOutput?
    let isSilent: Bool
    private(set) var exit = Exit.done
    private var files = 0
    private var failed = 0
    private var total: Int64 = 0

    init(console: Console, json: JSONOutput?, isSilent: Bool) {
        (self.console, self.json, self.isSilent) = (console, json, isSilent)
    }

    /// Tells something in lines, or as an object.
    func tell(_ event: String, _ members: [JSONMember], _ lines: [String]) throws(CommandFailure) {
        if let json { return try json.write(event, members) }
        let text = lines.map { Redaction.escaped(console.scrubbed($0)) + "\n" }.joined()
        try StandardOutput.write(Array(text.utf8))
    }

    /// Counts one that could go out.
    mutating func count(_ size: Int64?) {
        files += 1
        total += size ?? 0
    }

    /// Tells of a file that can't go out; the exit status is that of the first.
    mutating func fail(_ index: Int, _ file: String?, _ failure: CommandFailure) throws(CommandFailure) {
        files += 1
        failed += 1
        if exit == .done { exit = failure.exit }
        console.failure("\(file.map { "\($0): " } ?? "")\(failure.message)")
        guard let json else { return }
        try json.write(
            "file",
            [JSONMember("index", .int(Int64(index))), JSONMember("file", .string(orNull: file))]
                + PostReport.members(of: failure))
    }

    /// The end: what would be sent, or put into the outbox.
    func finish(_ verb: String = "send", _ noun: String = "file") throws(CommandFailure) -> Exit {
        if let json {
            try json.write(
                "summary",
                [
                    JSONMember("result", .string(exit == .done ? "rehearsed" : "failed")),
                    JSONMember("exit", .int(Int64(exit.rawValue))), JSONMember("files", .int(Int64(files))),
                    JSONMember("failed", .int(Int64(failed))), JSONMember("total", .int(total)),
                ])
        } else if exit != .done {
            console.failure("\(files - failed) of \(files) could go out")
        } else if !isSilent {
            console.line("would \(verb) \(files) \(files == 1 ? noun : noun + "s"), \(ByteCount(bytes: total))")
        }
        return exit
    }
}
