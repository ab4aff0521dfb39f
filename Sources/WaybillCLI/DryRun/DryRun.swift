import Waybill

/// The output of `--dry-run` on standard output: lines or a JSON object for each file, and a summary.
struct DryRun {
    let console: Console
    let json: JSONOutput?
    let isSilent: Bool
    private(set) var exit = Exit.done
    private var files = 0
    private var failed = 0
    /// The number of bytes; `nil` if the size of an upload is unknown.
    private var total: Int64? = 0

    init(console: Console, json: JSONOutput?, isSilent: Bool) {
        (self.console, self.json, self.isSilent) = (console, json, isSilent)
    }

    /// Prints lines, or a JSON object.
    func write(_ event: String, _ members: JSONObject, _ lines: [String]) throws(CommandFailure) {
        if let json { return try json.write(event, members) }
        try StandardOutput.write(lines.map { Redaction.escaped(console.scrubbed($0)) + "\n" }.joined())
    }

    /// Counts an upload that could be sent.
    mutating func count(_ size: Int64?) {
        files += 1
        if let size { total? += size } else { total = nil }
    }

    /// Checks files in order. A file that can't be sent is reported, and the check continues unless `failsEarly` is
    /// set. `check` prints what would be sent and returns the number of bytes, if it is known.
    mutating func forEach<File>(
        _ files: [File], name: (File) -> String?, failsEarly: Bool = false,
        _ check: (Int, File) async throws(CommandFailure) -> Int64?
    ) async throws(CommandFailure) {
        for (index, file) in files.enumerated() {
            do throws(CommandFailure) {
                count(try await check(index, file))
            } catch {
                guard error.code != .writeFailed else { throw error }
                try fail(index, name(file), error)
                if failsEarly { break }
            }
        }
    }

    /// Reports a file that can't be sent. The first such file determines the exit status.
    private mutating func fail(_ index: Int, _ file: String?, _ failure: CommandFailure) throws(CommandFailure) {
        files += 1
        failed += 1
        if exit == .done { exit = failure.exit }
        console.failure("\(file.map { "\($0): " } ?? "")\(failure.message)")
        try json?.write("file", ["index": index, "file": file] + failure.members)
    }

    /// Prints a summary of what would be sent or added to the outbox.
    func finish(_ verb: String = "send", _ noun: String = "file") throws(CommandFailure) -> Exit {
        if let json {
            try json.write(
                "summary",
                [
                    "result": exit == .done ? "rehearsed" : "failed", "exit": exit, "files": files, "failed": failed,
                    "total": total,
                ])
        } else if exit != .done {
            console.failure("\(files - failed) of \(files) could be sent")
        } else if !isSilent {
            let size = total.map { "\(ByteCount(bytes: $0))" } ?? "size unknown"
            console.line("would \(verb) \(Figures.count(files, noun)), \(size)")
        }
        return exit
    }
}
