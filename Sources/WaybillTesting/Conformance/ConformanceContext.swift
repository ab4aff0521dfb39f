import HTTPTypes
import WaybillCore

/// The environment of a check: transports, a server, and error reporting.
struct ConformanceContext: Sendable {
    let check: String
    let makeTransport: @Sendable () -> any UploadTransport
    let server: any ConformanceServer
    let timeout: Duration

    /// Starts an attempt against a server with the given behavior.
    func start(
        _ body: ProbeBody?, _ behaviour: ConformanceBehaviour, on transport: (any UploadTransport)? = nil,
        configure: @Sendable (inout TransferOptions) -> Void = { _ in }
    ) async throws(TestingError) -> ConformanceAttempt {
        let url = try await url(for: behaviour)
        // No 100-continue expectation: a server for the checks need not support it.
        var options = TransferOptions()
        options.expectContinue = .never
        configure(&options)
        let request = TransferRequest(
            method: .post, url: url, headers: [.contentType: "application/octet-stream"], body: body, options: options)
        let log = EventLog(watching: body)
        let control = (transport ?? makeTransport()).start(request, sink: log)
        return ConformanceAttempt(context: self, url: url, body: body, log: log, control: control)
    }

    func url(for behaviour: ConformanceBehaviour) async throws(TestingError) -> String {
        do {
            return try await server.url(for: behaviour)
        } catch {
            throw TestingError(.serverFailed, "The server does not support \(behaviour): \(error)", cause: error)
        }
    }

    func body(at url: String) async throws(TestingError) -> [UInt8] {
        do {
            return try await server.body(at: url)
        } catch {
            throw TestingError(.serverFailed, "The server failed to return the body: \(error)", cause: error)
        }
    }

    /// Runs another attempt to its end: afterwards, all other pending work of the transport is done.
    func runUnrelatedAttempt(on transport: any UploadTransport) async throws(TestingError) {
        _ = try await start(ProbeBody(.whole(1)), .respond(200), on: transport).end()
    }
}

/// An attempt that a check observes.
struct ConformanceAttempt: Sendable {
    let context: ConformanceContext
    let url: String
    let body: ProbeBody?
    let log: EventLog
    let control: any TransferControl

    /// Waits for the end.
    func end() async throws(TestingError) -> TransferEnd {
        guard await log.state.wait(atMost: context.timeout, until: { $0.end != nil }), let end = log.state.value.end
        else {
            throw violation("no end was reported within \(context.timeout)")
        }
        return end
    }

    /// Waits for the end, which must be a response.
    func response() async throws(TestingError) -> TransferResponse {
        switch try await end().result {
        case .success(let response): return response
        case .failure(let error): throw violation("expected a response, but the attempt failed (\(error))")
        }
    }

    /// Waits for the end, which must be a failure.
    func failure() async throws(TestingError) -> TransferError {
        switch try await end().result {
        case .failure(let error): return error
        case .success(let response):
            throw violation("expected a failure, but the response is \(response.head.status.code)")
        }
    }

    /// Waits until the state of the body meets a condition.
    func wait(
        for what: String, ofBody isMet: @escaping @Sendable (ProbeBody.State) -> Bool
    ) async throws(TestingError) {
        guard let body, await body.state.wait(atMost: context.timeout, until: isMet) else {
            throw violation("\(what) within \(context.timeout)")
        }
    }

    /// Waits until the whole body is reported as acknowledged.
    func bodyIsAcknowledged() async throws(TestingError) {
        let isReported = await log.state.wait(atMost: context.timeout) { state in
            state.events.contains { if case .bodyAcknowledged = $0 { true } else { false } }
        }
        guard isReported else { throw violation("bodyAcknowledged was not reported within \(context.timeout)") }
    }

    /// Cancels the attempt and waits for the end, which must be a cancellation.
    func cancel() async throws(TestingError) -> TransferError {
        control.cancel()
        let error = try await failure()
        try expect(error.code == .cancelled, "the code of a cancelled attempt is \(error.code), not cancelled")
        return error
    }

    func expect(_ condition: Bool, _ problem: @autoclosure () -> String) throws(TestingError) {
        guard condition else { throw violation(problem()) }
    }

    /// Returns the error for a violated requirement, with all reported events.
    func violation(_ problem: String) -> TestingError {
        let events = log.events.map { "\n  \(EventLog.describe($0))" }.joined()
        let bodyState = body.map { "\nState of the body: \($0.state.value)" } ?? ""
        let reported = events.isEmpty ? " nothing" : events
        return TestingError(
            .notConformant, "The check \"\(context.check)\" failed: \(problem).\nReported:\(reported)\(bodyState)"
        )
    }
}
