import Waybill

extension PutRun {
    /// Tells what would be sent where, each file opened and let go as it would be.
    func rehearse() throws(CommandFailure) -> Exit {
        var rehearsal = Rehearsal(console: console, json: json, isSilent: output.silent)
        if let skipped = plan.skipped, !output.silent { console.line(skipped) }
        try rehearsal.tell("start", plan.limits.limitMembers, [plan.limits.limitLine])
        for (index, file) in plan.files.enumerated() {
            do throws(CommandFailure) {
                if !file.isPipe { try InputFile.check(file.path) }
                let place = plan.target.place(of: file.key)
                try rehearsal.tell(
                    "file", Self.head(index, file, plan) + [JSONMember("total", file.isPipe ? .null : .int(file.size))],
                    [
                        "\(file.path) -> \(place) "
                            + (file.isPipe
                                ? "(length not known before it is read)" : "(\(ByteCount(bytes: file.size)))")
                    ])
                rehearsal.count(file.size)
            } catch {
                guard error.code != .writeFailed else { throw error }
                try rehearsal.fail(index, file.path, error)
                if plan.failsEarly { break }
            }
        }
        return try rehearsal.finish()
    }
}
