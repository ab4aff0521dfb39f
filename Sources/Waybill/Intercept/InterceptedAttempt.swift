import HTTPTypes
import WaybillCore

/// An attempt with interceptors before and after the transfer. To the state machine and to the transport, it looks like
/// any other attempt.
///
/// Cancelling while interceptors run ends the attempt immediately, and the results of the interceptors are discarded.
final class InterceptedAttempt: TransferControl, TransferSink {
    private enum Stage {
        case adapting
        case running
        case reviewing(TransferEnd)
        case ended
    }

    private struct State {
        var stage = Stage.adapting
        var task: Task<Void, Never>?
        var requested = RequestedControl()
    }

    private let request: TransferRequest
    private let attempt: Int
    private let chain: InterceptorChain
    private let adapts: Bool
    private let accepts: StatusPolicy
    private let transport: any UploadTransport
    private let sink: any TransferSink
    private let state = Locked(State())

    /// Creates an attempt without starting it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - attempt: The number of the attempt.
    ///   - chain: The interceptors.
    ///   - adapts: Whether interceptors may change the request. `false` for a redirect to another origin, where
    ///     credentials are dropped.
    ///   - accepts: The statuses of the responses that interceptors review.
    ///   - transport: The transport.
    ///   - sink: The receiver of the events.
    init(
        _ request: TransferRequest, attempt: Int, chain: InterceptorChain, adapts: Bool, accepts: StatusPolicy,
        transport: any UploadTransport, sink: any TransferSink
    ) {
        self.request = request
        self.attempt = attempt
        self.chain = chain
        self.adapts = adapts && chain.handles(.adapt)
        self.accepts = accepts
        self.transport = transport
        self.sink = sink
    }

    /// Starts the attempt.
    ///
    /// - Parameter willSend: Called with the adapted request before it is passed to the transport.
    func start(willSend: @escaping @Sendable (TransferRequest) -> Void) {
        guard adapts else { return launch(request) }
        work {
            do throws(TransferError) {
                let adapted = try await self.chain.adapted(self.request, attempt: self.attempt)
                willSend(adapted)
                self.launch(adapted)
            } catch {
                self.finish(TransferEnd(result: .failure(error), evidence: self.emptyCounters))
            }
        }
    }

    /// The evidence of a request that was not sent.
    private var emptyCounters: TransferCounters { TransferCounters(announced: request.body?.length) }

    private func work(_ body: @escaping @Sendable () async -> Void) {
        let task = Task { await body() }
        let hasEnded = state.withLock { state in
            if case .ended = state.stage { return true }
            state.task = task
            return false
        }
        if hasEnded { task.cancel() }
    }

    private func launch(_ request: TransferRequest) {
        let mayStart = state.withLock { state -> Bool in
            guard case .adapting = state.stage else { return false }
            state.stage = .running
            state.task = nil
            return true
        }
        guard mayStart else { return }
        let control = transport.start(request, sink: self)
        state.withLock { $0.requested.attach(control) }()
    }

    private func finish(_ end: TransferEnd) {
        let task = state.withLock { state -> Task<Void, Never>?? in
            if case .ended = state.stage { return nil }
            state.stage = .ended
            state.requested.detach()
            return .some(state.task.take())
        }
        guard let task else { return }
        task?.cancel()
        sink.transfer(.ended(end))
    }
}

// MARK: - Transport events

extension InterceptedAttempt {
    var wantsProgress: Bool { sink.wantsProgress }

    func transfer(_ event: TransferEvent) {
        guard case .ended(let end) = event else { return sink.transfer(event) }
        guard case .success(let answer) = end.result, accepts.accepts(answer.head.status),
            chain.handles(.transform) || chain.handles(.judge)
        else {
            return finish(end)
        }
        let mayReview = state.withLock { state -> Bool in
            guard case .running = state.stage, !state.requested.isCancelled else { return false }
            state.stage = .reviewing(end)
            return true
        }
        guard mayReview else { return finish(Self.unreviewed(end)) }
        work {
            let response = UploadResponse(
                status: answer.head.status, headers: answer.head.headerFields, body: answer.body,
                metrics: end.metrics)
            let (body, objection) = await self.chain.reviewed(response)
            var end = end
            end.result = .success(TransferResponse(head: answer.head, body: body))
            end.validationFailure = objection
            self.finish(end)
        }
    }

    /// Returns the end of an attempt whose response was received but not reviewed.
    private static func unreviewed(_ end: TransferEnd) -> TransferEnd {
        var end = end
        end.validationFailure = ResponseValidationFailure(
            .cancelled, message: "The upload was cancelled before the response was reviewed.")
        return end
    }
}

// MARK: - Control

extension InterceptedAttempt {
    func cancel() {
        let (control, stage) = state.withLock { ($0.requested.cancel(), $0.stage) }
        switch stage {
        case .ended: break
        case .running: control?.cancel()
        case .reviewing(let end): finish(Self.unreviewed(end))
        case .adapting:
            let error = TransferError(
                .cancelled, "The upload was cancelled before the request was sent.", outcome: .notSent)
            finish(TransferEnd(result: .failure(error), evidence: emptyCounters))
        }
    }

    func pause() { state.withLock { $0.requested.setPaused(true) }?.pause() }
    func resume() { state.withLock { $0.requested.setPaused(false) }?.resume() }
    func limit(to rate: ByteCount?) { state.withLock { $0.requested.limit(to: rate) }?.limit(to: rate) }
}
