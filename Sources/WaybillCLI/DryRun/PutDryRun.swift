import Waybill

extension PutRun {
    /// Prints what would be sent where. Each file is opened and closed.
    func dryRun() async throws(CommandFailure) -> Exit {
        var dryRun = DryRun(console: console, json: json, isSilent: output.silent)
        if let skipped = plan.skipped, !output.silent { console.line(skipped) }
        try dryRun.write("start", plan.limits.limitMembers, [plan.limits.limitLine])
        let output = dryRun
        try await dryRun.forEach(plan.files, name: \.path, failsEarly: plan.failsEarly) {
            index, file throws(CommandFailure) in
            if !file.isPipe { try InputFile.check(file.path) }
            let size = file.isPipe ? "length not known before it is read" : ByteCount(bytes: file.size).description
            try output.write(
                "file", Self.head(index, file, plan) + ["total": file.isPipe ? nil : file.size],
                ["\(file.path) -> \(plan.target.place(of: file.key)) (\(size))"])
            return file.size
        }
        return try dryRun.finish()
    }
}
