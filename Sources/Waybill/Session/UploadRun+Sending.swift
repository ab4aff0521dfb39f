import HTTPTypes
import WaybillCore

// Starting an attempt on the transport, and handling its events.

extension UploadRun {
    func startTransfer(_ attempt: Int, _ core: SessionCore?) {
        guard let core, let plan else { return }
        let (body, headers, redirected, resumable) = withResources { resources in
            if resources.stopwatch == nil { resources.stopwatch = Stopwatch(clock) }
            return (resources.body, resources.headers, resources.hop, resources.resumable)
        }
        let hop = redirected ?? plan.firstHop
        var fields = plan.headers(headers, on: hop)
        if hop.sendsCredentials, let credential = credential(of: plan) { fields[.authorization] = credential.value }
        if let cookie = plan.cookies?.field(for: hop.url) {
            fields[.cookie] = [fields[.cookie], cookie].compactMap(\.self).joined(separator: "; ")
        }
        var options = plan.options.transfer
        let sent = hop.sendsBody ? body : nil
        // Only requests with a body take a share. An invalid limit is rejected by the transport.
        if let sent, sent.length != 0, options.rateLimit.map({ $0.bytes > 0 }) ?? true {
            options.rateLimit = core.beginSending(self)
        }
        if !hop.sendsCredentials { options.tls.clientCertificate = nil }
        options.digest = hop.sendsCredentials ? plan.options.authentication?.digest ?? options.digest : nil
        let transfer = TransferRequest(
            id: id, method: hop.method, url: hop.url, headers: fields,
            body: sent, options: options)
        withResources { $0.sent = transfer }
        log.started(transfer, attempt: attempt)
        let sink = AttemptSink(run: self, attempt: attempt)
        if sent != nil, let resumable {
            return start(transfer, of: resumable, attempt: attempt, hop, core, sink)
        }
        guard !plan.chain.isEmpty else {
            let control = core.transport.start(transfer, sink: sink)
            return withResources { $0.control = control }
        }
        let intercepted = InterceptedAttempt(
            transfer, attempt: attempt, chain: plan.chain, adapts: hop.sendsCredentials, accepts: plan.options.accepts,
            transport: core.transport, sink: sink)
        withResources { $0.control = intercepted }
        intercepted.start { [weak self] adapted in self?.withResources { $0.sent = adapted } }
    }

    /// Returns a timer that posts an event unless it is cancelled before.
    func timer(after delay: Duration, _ event: UploadStateMachine.Event) -> Task<Void, Never> {
        Task { [weak self, clock] in
            guard (try? await clock.sleep(for: delay)) != nil else { return }
            self?.send(event)
        }
    }

    /// Handles an event of the transport, on the transport's thread.
    func transfer(_ event: TransferEvent, attempt: Int) {
        guard case .ended(var end) = event else {
            log.transfer(event, attempt: attempt)
            if case .responseHead(let head) = event, let jar = plan?.cookies {
                jar.store(head.headerFields, from: withResources { $0.sent }?.url ?? "")
            }
            return send(.transfer(event, attempt: attempt, jitter: 0))
        }
        switch end.result {
        case .failure(var error):
            // libcurl's messages can quote the URL and the proxy, which may contain credentials.
            error.message = scrubbed(error.message)
            end.result = .failure(error)
        case .success(var response):
            // A server may include received data in its reason phrase. "OK" is too short to contain a secret.
            let status = response.head.status
            if let objection = end.validationFailure { end.validationFailure?.message = scrubbed(objection.message) }
            guard status.reasonPhrase.utf8.count > 2 else { break }
            response.head.status = HTTPResponse.Status(
                code: status.code, reasonPhrase: scrubbed(status.reasonPhrase))
            end.result = .success(response)
        }
        if let reason = log.ended(end, attempt: attempt) { withResources { $0.failureReason = reason } }
        send(.transfer(.ended(end), attempt: attempt, jitter: isLast(end) ? 0 : jitter(), elapsed: elapsed))
    }

    /// Returns whether no retry can follow. Then no random number is needed for the delay, which saves a system call.
    private func isLast(_ end: TransferEnd) -> Bool {
        guard case .success(let response) = end.result, end.validationFailure == nil else { return false }
        return response.head.status.kind == .successful && plan?.options.accepts.accepts(response.head.status) == true
    }

    private func scrubbed(_ text: String) -> String {
        let (sent, hop) = withResources { ($0.sent, $0.hop) }
        let text = Redaction.scrub(text, of: plan?.options.transfer.secrets ?? [])
        return [request.url, plan?.url, hop?.url, sent?.url].compactMap(\.self).reduce(text) { text, url in
            Redaction.scrub(
                text,
                of: Redaction.secrets(url: url, proxy: plan?.options.transfer.proxy, headers: sent?.headers ?? [:]))
        }
    }

    func scheduleRetry(after delay: Duration, _ attempt: Int) {
        log.retrying(after: delay, reason: withResources { $0.failureReason }, attempt: attempt)
        let timer = timer(after: delay, .retryDue(attempt: attempt))
        withResources { resources in
            resources.control = nil
            resources.nextAttemptTask = timer
        }
    }
}

/// Adds the number of the attempt to each event, so that late events are detected.
private final class AttemptSink: TransferSink {
    private let run: UploadRun
    private let attempt: Int

    init(run: UploadRun, attempt: Int) {
        self.run = run
        self.attempt = attempt
    }

    func transfer(_ event: TransferEvent) { run.transfer(event, attempt: attempt) }
    var wantsProgress: Bool { run.wantsProgress }
}
