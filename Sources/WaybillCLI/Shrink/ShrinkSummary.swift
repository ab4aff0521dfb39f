import Waybill

/// What became of all pictures of a call together.
struct ShrinkSummary: Sendable {
    let made: [ShrinkReport]
    let failures: [CommandFailure]
    private let signal: Int32?

    init(outcomes: [ShrinkRun.Outcome], signal: Int32?) {
        made = outcomes.compactMap { outcome in if case .success(let report) = outcome { report } else { nil } }
        failures = outcomes.compactMap { outcome in if case .failure(let failure) = outcome { failure } else { nil } }
        self.signal = signal
    }

    /// How the call ends: by the signal, if one came, else as the first picture that failed.
    var failure: CommandFailure? {
        guard let first = failures.first(where: \.isInterruption) ?? failures.first else { return nil }
        let count = failures.count + made.count
        guard count > 1 else { return first }
        let reason = first.isInterruption ? "were not made: stopped by a signal" : "could not be made"
        return CommandFailure(
            code: first.code, exit: first.exit, message: "\(failures.count) of \(count) pictures \(reason).")
    }

    /// `12 pictures: 41.2 MiB → 1.2 MiB (2.9 %); 1 not made`.
    var line: String {
        let noun = made.count == 1 ? "picture" : "pictures"
        var line = "\(made.count) \(noun): \(size(before)) → \(size(after)) (\(ReportText.share(after, of: before)))"
        if !failures.isEmpty { line += "; \(failures.count) not made" }
        return line
    }

    var members: [JSONMember] {
        [
            JSONMember("result", .string(failures.isEmpty ? "succeeded" : "failed")),
            JSONMember("exit", .int(Int64(failure?.exit.rawValue ?? 0))),
            JSONMember("pictures", .int(Int64(made.count + failures.count))),
            JSONMember("failed", .int(Int64(failures.count))),
            JSONMember("originalBytes", .int(Int64(before))),
            JSONMember("bytes", .int(Int64(after))),
            JSONMember("signal", .int(orNull: signal.map(Int64.init))),
        ]
    }

    private var before: Int { made.reduce(0) { $0 + $1.picture.originalBytes } }
    private var after: Int { made.reduce(0) { $0 + $1.picture.bytes } }
    private func size(_ bytes: Int) -> String { ByteCount(bytes: Int64(bytes)).description }
}

extension CommandFailure {
    /// Whether it failed because the process was told to end.
    var isInterruption: Bool { exit == .interrupted || exit == .terminated }
}
