import FoundationEssentials
import Waybill

/// How a post ended, as lines and as JSON.
struct PostReport: Sendable {
    var result: Result<UploadResponse, UploadError>
    /// The last snapshot.
    var progress: UploadProgress?
    var time: Duration
    /// The signal that asked for the end, if one did.
    var signal: Int32?

    /// How the command ends.
    var exit: Exit {
        switch result {
        case .success: .done
        case .failure(let error): Exit(error, signal: signal)
        }
    }

    /// The answer that is delivered: the accepted one, or the one that refused.
    var answer: [UInt8]? { response?.body }

    /// Its status line and header fields.
    var head: ResponseHead? { response.map { ResponseHead($0) } }

    private var response: UploadResponse? {
        switch result {
        case .success(let response): response
        case .failure(let error): Self.refusals.contains(error.code) ? error.response : nil
        }
    }

    /// Failures that are a response: a refusal, or a redirect that was not followed.
    private static let refusals: Set<UploadError.Code> = [
        .rejected, .redirectRefused, .redirectWouldDropBody, .redirectLoop, .tooManyRedirects,
    ]

    /// What went out: nothing of it for an upload that had no turn.
    var attempts: [UploadAttempt] {
        switch result {
        case .success(let response): response.attempts
        case .failure(let error): error.attempts
        }
    }

    /// Bytes of the body: of the last snapshot, or of the best attempt where nobody took snapshots.
    private var figures: (sent: Int64, acknowledged: Int64, total: Int64?) {
        if let progress { return (progress.sent, progress.acknowledged, progress.total) }
        let sent = attempts.map(\.sent).max() ?? 0
        if case .success = result { return (sent, sent, sent) }
        return (sent, attempts.map(\.acknowledged).max() ?? 0, nil)
    }
}

// MARK: - Lines

extension PostReport {
    /// `done: 200 OK, 312.4 KiB in 1.2 s (260.3 KiB/s)`.
    var successLine: String {
        guard case .success(let response) = result else { return "" }
        return "done: \(facts(of: response, bytes: progress?.total))"
    }

    /// How one of several ended: `photos/a.jpg: 200 OK, 312.4 KiB in 1.2 s (260.3 KiB/s)`, or what went wrong.
    func line(of file: String) -> String {
        switch result {
        case .success(let response): return "\(file): \(facts(of: response, bytes: figures.sent))"
        case .failure:
            let sentences = failureLines.map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 }
            return "\(file): \(sentences.joined(separator: "; "))"
        }
    }

    private func facts(of response: UploadResponse, bytes: Int64?) -> String {
        var line = String("\(response.status.code) \(response.status.reasonPhrase)".trimmingBlanks)
        if let total = bytes {
            line += ", \(ByteCount(bytes: total)) in \(SummaryText.seconds(time))"
            let seconds = SummaryText.value(time)
            if seconds > 0 { line += " (\(ByteCount(bytes: Int64(Double(total) / seconds)))/s)" }
        }
        if response.attempts.count > 1 { line += ", \(response.attempts.count) attempts" }
        return line
    }

    /// What went wrong and what to do, and what may be believed of the server's side.
    var failureLines: [String] {
        guard case .failure(let error) = result else { return [] }
        var lines = ["\(error.code)\(error.place): \(error.message)"]
        if error.attempts.count > 1 {
            lines.append("gave up after \(error.attempts.count) attempts in \(SummaryText.seconds(time))")
        }
        if let state = Self.state(error) { lines.append(state) }
        return lines
    }

    /// The attempts with their times, for `-v`.
    var attemptLines: [String] {
        attempts.map { attempt in
            let metrics = attempt.metrics
            let times = [
                ("name", metrics.nameLookup), ("connect", metrics.connect), ("tls", metrics.tls),
                ("first byte", metrics.firstByte), ("total", metrics.total),
            ].filter { $0.1 > .zero }.map { "\($0.0) \(SummaryText.seconds($0.1))" }
            let peer =
                metrics.connection.map { connection in
                    " to \(connection.peerAddress) port \(connection.peerPort)\(connection.isReused ? ", reused" : "")"
                } ?? ""
            return "* \(attempt)\(peer); \(times.joined(separator: ", "))"
        }
    }

    private static func state(_ error: UploadError) -> String? {
        switch error.outcome {
        case .notSent:
            error.attempts.isEmpty ? "nothing was sent" : "the server got nothing of the request"
        case .incomplete(let acknowledged):
            "the server got \(ByteCount(bytes: acknowledged)) and not the end, so it has nothing whole"
        case .unknown:
            "everything was handed over: the server may have stored it. Look before you send it again"
        case .rejected: nil
        }
    }
}

// MARK: - JSON

extension PostReport {
    /// The members of the summary, apart from the answer.
    ///
    /// With no number for `exit`, the upload was given up for another's sake.
    func members(exit: Exit?) -> [JSONMember] {
        let figures = figures
        var members = [
            JSONMember("result", .string(resultName)),
            JSONMember("exit", .int(orNull: exit.map { Int64($0.rawValue) })),
            JSONMember("outcome", .string(outcomeName)),
            JSONMember("status", .int(orNull: response.map { Int64($0.status.code) })),
            JSONMember("headers", head?.value ?? .null),
            JSONMember("sent", .int(figures.sent)),
            JSONMember("acknowledged", .int(figures.acknowledged)),
            JSONMember("total", .int(orNull: figures.total)),
            JSONMember("seconds", .double(SummaryText.value(time))),
            JSONMember("signal", .int(orNull: signal.map(Int64.init))),
            JSONMember("attempts", .array(attempts.map(Self.value))),
        ]
        if case .failure(let error) = result {
            members.append(
                JSONMember(
                    "error",
                    .object([
                        JSONMember("code", .string(error.code.description)),
                        JSONMember("message", .string(error.message)),
                        JSONMember("part", .string(orNull: error.part)),
                    ])))
        }
        return members
    }

    /// The answer as text, or in base64 when it is not UTF-8.
    var answerMembers: [JSONMember] {
        guard let answer else { return [] }
        if let text = String(validating: answer, as: UTF8.self) { return [JSONMember("body", .string(text))] }
        return [JSONMember("bodyBase64", .string(Data(answer).base64EncodedString()))]
    }

    /// The summary of a command that never came to sending.
    static func members(of failure: CommandFailure) -> [JSONMember] {
        [
            JSONMember("result", .string("failed")),
            JSONMember("exit", .int(Int64(failure.exit.rawValue))),
            JSONMember("outcome", .string("notSent")),
            JSONMember(
                "error",
                .object([
                    JSONMember("code", .string(failure.code.description)),
                    JSONMember("message", .string(failure.message)), JSONMember("part", .null),
                ])),
        ]
    }

    private var resultName: String {
        switch result {
        case .success: "succeeded"
        case .failure(let error): error.isCancelled ? "cancelled" : "failed"
        }
    }

    private var outcomeName: String {
        switch result {
        case .success: "accepted"
        case .failure(let error): Self.name(of: error.outcome)
        }
    }

    private static func name(of outcome: UploadOutcome) -> String {
        switch outcome {
        case .notSent: "notSent"
        case .incomplete: "incomplete"
        case .rejected: "rejected"
        case .unknown: "unknown"
        }
    }

    private static func value(_ attempt: UploadAttempt) -> JSONValue {
        .object([
            JSONMember("number", .int(Int64(attempt.number))),
            JSONMember("code", .string(orNull: attempt.code?.description)),
            JSONMember("reason", .string(attempt.reason)),
            JSONMember("outcome", .string(orNull: attempt.outcome.map(name))),
            JSONMember("status", .int(orNull: attempt.status.map { Int64($0.code) })),
            JSONMember("acknowledged", .int(attempt.acknowledged)),
            JSONMember("seconds", .double(SummaryText.value(attempt.metrics.total))),
        ])
    }
}

/// Times as texts.
enum SummaryText {
    /// `0.012 s`, `1.2 s`, `75 s`.
    static func seconds(_ time: Duration) -> String {
        let milliseconds = Int64((value(time) * 1_000).rounded())
        if milliseconds < 1_000 {
            return "0.\(String(repeating: "0", count: 3 - "\(milliseconds)".count))\(milliseconds) s"
        }
        if milliseconds < 60_000 { return "\(milliseconds / 1_000).\(milliseconds / 100 % 10) s" }
        return "\((milliseconds + 500) / 1_000) s"
    }

    static func value(_ time: Duration) -> Double {
        let (seconds, attoseconds) = time.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
