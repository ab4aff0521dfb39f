import Waybill

/// Formats the result of a post as lines and as JSON.
struct PostReport: Sendable {
    var result: Result<UploadResponse, UploadError>
    /// The last snapshot.
    var progress: UploadProgress?
    var time: Duration
    /// The signal that stopped the command, if any.
    var signal: Int32?

    /// The exit status of the command.
    var exit: Exit {
        switch result {
        case .success: .done
        case .failure(let error): Exit(error, signal: signal)
        }
    }

    /// The category of the result in a summary of several uploads.
    var ending: FilesSummary.Ending {
        switch result {
        case .success: .succeeded
        case .failure(let error): error.isCancelled ? .cancelled : .failed
        }
    }

    /// The response body to write: of the accepted or the rejecting response.
    var responseBody: [UInt8]? { response?.body }

    /// The status line and header fields of that response.
    var head: ResponseHead? { response.map { ResponseHead($0) } }

    private var response: UploadResponse? {
        switch result {
        case .success(let response): response
        case .failure(let error): Self.codesWithResponse.contains(error.code) ? error.response : nil
        }
    }

    /// Errors that have a response to print: a rejection, or a redirect that was not followed.
    private static let codesWithResponse: Set<UploadError.Code> = [
        .rejected, .redirectRefused, .redirectWouldDropBody, .redirectLoop, .tooManyRedirects,
    ]

    /// The attempts; empty for an upload that was never started.
    var attempts: [UploadAttempt] {
        switch result {
        case .success(let response): response.attempts
        case .failure(let error): error.attempts
        }
    }

    /// The byte counts of the body: from the last snapshot, or without one from the best attempt.
    private var figures: (sent: Int64, acknowledged: Int64, total: Int64?) {
        if let progress { return (progress.sent, progress.acknowledged, progress.total) }
        let sent = attempts.map(\.sent).max() ?? 0
        if case .success = result { return (sent, sent, sent) }
        return (sent, attempts.map(\.acknowledged).max() ?? 0, nil)
    }
}

// MARK: - Lines

extension PostReport {
    /// The line of a success: `done: 200 OK, 312.4 KiB in 1.2 s (260.3 KiB/s)`.
    var successLine: String {
        guard case .success(let response) = result else { return "" }
        return "done: \(facts(of: response, bytes: progress?.total))"
    }

    /// Returns the line of one of several uploads: `photos/a.jpg: 200 OK, 312.4 KiB in 1.2 s (260.3 KiB/s)`, or the
    /// error.
    func line(of file: String) -> String {
        switch result {
        case .success(let response): return "\(file): \(facts(of: response, bytes: figures.sent))"
        case .failure:
            return "\(file): \(failureLines.joined(separator: " "))"
        }
    }

    private func facts(of response: UploadResponse, bytes: Int64?) -> String {
        var line = String("\(response.status.code) \(response.status.reasonPhrase)".trimmingWhitespace)
        if let total = bytes {
            line += ", \(ByteCount(bytes: total)) in \(Figures.seconds(time))"
            let seconds = time / .seconds(1)
            if seconds > 0 { line += " (\(ByteCount(bytes: Int64(Double(total) / seconds)))/s)" }
        }
        if response.attempts.count > 1 { line += ", \(response.attempts.count) attempts" }
        return line
    }

    /// The error with its remedy, and the known state of the server.
    var failureLines: [String] {
        guard case .failure(let error) = result else { return [] }
        var lines = ["\(error.code)\(error.place): \(error.message)".sentence]
        if error.attempts.count > 1 {
            lines.append("Gave up after \(error.attempts.count) attempts in \(Figures.seconds(time)).")
        }
        if let state = Self.state(error) { lines.append(state) }
        return lines
    }

    /// The attempts with their timings, for `-v`.
    var attemptLines: [String] {
        attempts.map { attempt in
            let metrics = attempt.metrics
            let times = [
                ("name", metrics.nameLookup), ("connect", metrics.connect), ("tls", metrics.tls),
                ("first byte", metrics.firstByte), ("total", metrics.total),
            ].filter { $0.1 > .zero }.map { "\($0.0) \(Figures.seconds($0.1))" }
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
            error.attempts.isEmpty ? "Nothing was sent." : "The server received nothing of the request."
        case .incomplete(let acknowledged):
            "The server received \(ByteCount(bytes: acknowledged)), which is incomplete."
        case .unknown:
            "Everything was sent: the server may have stored it. Check the server before you send it again."
        case .processed:
            "The server has processed the upload, but its response was lost. Look up the result, and do not send it again."
        case .rejected: nil
        }
    }
}

// MARK: - JSON

extension PostReport {
    /// Returns the members of the summary, except the response's body. `exit` is `nil` for an upload that was cancelled
    /// because another one failed.
    func members(exit: Exit?) -> JSONObject {
        let figures = figures
        let members: JSONObject = [
            "result": ending.rawValue, "exit": exit, "outcome": outcomeName, "status": response?.status.code,
            "headers": head?.json, "sent": figures.sent, "acknowledged": figures.acknowledged, "total": figures.total,
            "seconds": time, "signal": signal, "attempts": attempts.map { JSONObject($0) },
        ]
        guard case .failure(let error) = result else { return members }
        let details: JSONObject = ["code": error.code.description, "message": error.message, "part": error.part]
        return members + ["error": details]
    }

    /// The body of the response as JSON members.
    var body: JSONObject { responseBody.map { .body($0) } ?? [:] }

    private var outcomeName: String {
        switch result {
        case .success: "accepted"
        case .failure(let error): error.outcome.name
        }
    }
}

extension JSONObject {
    fileprivate init(_ attempt: UploadAttempt) {
        self = [
            "number": attempt.number, "code": attempt.code?.description, "reason": attempt.reason,
            "outcome": attempt.outcome?.name, "status": attempt.status?.code, "acknowledged": attempt.acknowledged,
            "seconds": attempt.metrics.total,
        ]
    }
}

extension UploadOutcome {
    /// The name in JSON.
    var name: String {
        switch self {
        case .notSent: "notSent"
        case .incomplete: "incomplete"
        case .rejected: "rejected"
        case .unknown: "unknown"
        case .processed: "processed"
        }
    }
}
