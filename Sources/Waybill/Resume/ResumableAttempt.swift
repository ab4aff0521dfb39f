import HTTPTypes
import WaybillCore
import WaybillMultipart

/// An attempt at a resumable upload: it sends one request after the other and reports them as one attempt. To the upload's
/// state machine it looks like any other attempt.
final class ResumableAttempt: TransferControl {
    /// Starts a request; `isFinal` is whether its response can be that of the application.
    typealias Launch = @Sendable (TransferRequest, _ isFinal: Bool, any TransferSink) -> any TransferControl

    private struct State {
        /// The number of the current exchange, so that late events and controls are detected.
        var number = 0
        var exchange: ResumeExchange?
        /// What is done between two requests: waiting, or reading the body.
        var work: Task<Void, Never>?
        var requested = RequestedControl()
        var isConnected = false
        /// Whether the attempt ends after the current request.
        var isStopping = false
        var lastEnd: TransferEnd?
        var heldEnd: TransferEnd?
        var hasEnded = false
    }

    private let upload: ResumableUpload
    private let clock: any Clock<Duration>
    private let sink: any TransferSink
    private let launch: Launch
    private let state = Locked(State())

    /// Creates an attempt without starting it.
    ///
    /// - Parameters:
    ///   - upload: The upload.
    ///   - clock: The clock for waiting.
    ///   - sink: The receiver of the events.
    ///   - launch: Starts a request.
    init(
        _ upload: ResumableUpload, clock: any Clock<Duration>, sink: any TransferSink, launch: @escaping Launch
    ) {
        self.upload = upload
        self.clock = clock
        self.sink = sink
        self.launch = launch
    }

    func start() { handle(.begin) }

    private func handle(_ event: ResumeStateMachine.Event) {
        for action in upload.handle(event) { perform(action) }
    }

    private func perform(_ action: ResumeStateMachine.Action) {
        switch action {
        case .send(let exchange): send(exchange)
        case .wait(let delay): wait(delay)
        case .read(let range): findEnd(in: range)
        case .save(let record): upload.save(record) { [self] in handle(.saved(record)) }
        case .forget(let isStored): upload.forget(isStored: isStored)
        case .stored(let stored): sink.transfer(.stored(stored))
        case .abandon(let url): abandon(url)
        case .hold: state.withLock { $0.heldEnd = $0.lastEnd }
        case .finish(let ending): finish(ending)
        }
    }

    // MARK: - Exchanges

    private func send(_ exchange: ResumeExchange) {
        guard let (checksum, range) = upload.checksum(for: exchange) else { return send(exchange, hash: nil) }
        read(range) { chunks async throws(BodyError) in
            try await checksum.compute(chunks)
        } then: { [self] hash in
            send(exchange, hash: hash)
        }
    }

    private func send(_ exchange: ResumeExchange, hash: [UInt8]?) {
        let number = state.withLock { state -> Int? in
            guard !state.requested.isCancelled, !state.isStopping, !state.hasEnded else { return nil }
            state.number += 1
            state.exchange = exchange
            state.requested.detach()
            return state.number
        }
        guard let number else { return endCancelled() }
        guard let control = start(exchange, hash: hash, ExchangeSink(attempt: self, number: number)) else { return }
        // The request may have ended, and another one may have started, before `launch` returned.
        state.withLock { $0.number == number && !$0.hasEnded ? $0.requested.attach(control) : nil }?()
    }

    private func start(
        _ exchange: ResumeExchange, hash: [UInt8]?, _ sink: any TransferSink
    ) -> (any TransferControl)? {
        if exchange == .parts {
            let (clock, launch) = (clock, launch)
            return upload.partsForAttempt().map { parts, rateLimit in
                let transfer = ParallelTransfer(parts, rateLimit: rateLimit, sink: sink) { part, sink in
                    ResumableAttempt(part, clock: clock, sink: sink, launch: launch)
                }
                transfer.start()
                return transfer
            }
        }
        return upload.request(for: exchange, hash: hash).map { launch($0, exchange.completesBody, sink) }
    }

    private func wait(_ delay: Duration) {
        perform { [self] in
            guard (try? await clock.sleep(for: delay)) != nil else { return }
            if endWork() { handle(.waited) }
        }
    }

    /// Reads a range of a body of unknown length. A copied stream keeps it for the append.
    private func findEnd(in range: Range<Int64>) {
        read(range) { chunks async throws(BodyError) in
            var end = range.lowerBound
            for try await chunk in chunks { end += Int64(chunk.count) }
            return end
        } then: { [self] end in
            handle(.available(end, isEnd: end < range.upperBound))
        }
    }

    /// Reads a range of the body, and continues with the result.
    private func read<Value: Sendable>(
        _ range: Range<Int64>,
        _ work: @escaping @Sendable (AsyncValues<[UInt8], BodyError>) async throws(BodyError) -> Value,
        then: @escaping @Sendable (Value) -> Void
    ) {
        perform { [self] in
            do throws(BodyError) {
                let value = try await work(AsyncValues(of: RangeBody(upload.body, range: range)))
                if endWork() { then(value) }
            } catch {
                let message = "The body can't be read: \(error)".sentence
                if endWork() { end(with: TransferError(.bodyFailed, message, outcome: .unknown, cause: error)) }
            }
        }
    }

    /// Starts work between two requests, which a cancellation ends.
    private func perform(_ work: @escaping @Sendable () async -> Void) {
        let isStarted = state.withLock { state in
            // Inside the lock, because the work must not end before it is recorded.
            if !state.requested.isCancelled, !state.isStopping { state.work = Task { await work() } }
            return state.work != nil
        }
        if !isStarted { endCancelled() }
    }

    /// Ends the work; returns `false` if it was cancelled, so that nothing may follow.
    private func endWork() -> Bool { state.withLock { $0.work.take() != nil } }

    private func abandon(_ url: String) {
        guard let request = upload.request(for: .delete, url: url) else { return }
        _ = launch(request, false, IgnoringSink())
    }

    // MARK: - Events of an exchange

    var wantsProgress: Bool { sink.wantsProgress }

    fileprivate func transfer(_ event: TransferEvent, number: Int) {
        let exchange = state.withLock { $0.number == number && !$0.hasEnded ? $0.exchange : nil }
        guard let exchange else { return }
        guard exchange != .ordinary else {
            guard case .ended(let end) = event else { return sink.transfer(event) }
            state.withLock { $0.lastEnd = end }
            return handle(.replied(ResumeReply(status: 0), ResumeStateMachine.Transmission()))
        }
        switch event {
        case .connected:
            let isFirst = state.withLock { state in
                defer { state.isConnected = true }
                return !state.isConnected
            }
            if isFirst { sink.transfer(event) }
        case .progress(var progress):
            guard let start = exchange == .parts ? 0 : exchange.range?.lowerBound else { return }
            progress.sent += start
            progress.acknowledged += start
            sink.transfer(.progress(progress))
        case .bodyAcknowledged:
            if exchange.completesBody { sink.transfer(event) }
        case .interimHead(let head): handle(.interim(upload.reply(head, to: exchange)))
        case .stored: if exchange == .parts { sink.transfer(event) }
        case .responseHead: break
        case .ended(let end): ended(exchange, end)
        }
    }

    private func ended(_ exchange: ResumeExchange, _ end: TransferEnd) {
        state.withLock { state in
            // The control of this request, which `launch` may not have returned yet, must not be attached any more.
            state.number += 1
            state.lastEnd = end
            state.requested.detach()
        }
        guard exchange != .parts else {
            return handle(
                .partsEnded(
                    upload.partRecords, areStored: end.resumption?.uploadURL != nil,
                    acknowledged: end.evidence.acknowledged))
        }
        let transmission = ResumeStateMachine.Transmission(
            isComplete: end.evidence.isBodyComplete, acknowledged: end.evidence.acknowledged, time: end.metrics.total)
        switch end.result {
        case .success(let response): handle(.replied(upload.reply(response.head, to: exchange), transmission))
        case .failure(let error):
            // A body that can't be read, or a cancellation, ends the attempt whatever the server has stored.
            guard error.code != .bodyFailed, !state.withLock({ $0.requested.isCancelled }) else {
                upload.stop(mayBeProcessed: exchange.completesBody && transmission.isComplete)
                return finish(.last(isFinal: false))
            }
            handle(.failed(transmission))
        }
    }

    // MARK: - The end of the attempt

    private func finish(_ ending: ResumeStateMachine.Ending) {
        let ended = state.withLock { state -> (last: TransferEnd?, held: TransferEnd?, exchange: ResumeExchange?)? in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            return (state.lastEnd, state.heldEnd, state.exchange)
        }
        guard let ended else { return }
        let outcome = upload.summary.outcome
        switch ending {
        case .last(true):
            guard var end = ended.last else { return }
            if ended.exchange != .ordinary {
                complete(&end, ended.exchange)
                if case .success(let response) = end.result {
                    if response.head.status.kind == .successful, let length = upload.length {
                        sink.transfer(.stored(StoredProgress(bytes: length, isConfirmed: true)))
                    }
                    sink.transfer(.responseHead(response.head))
                }
            }
            sink.transfer(.ended(end))
        case .last(false): report(ended.last, outcome)
        case .held: report(ended.held, outcome)
        case .failed(let code, let message, let outcome):
            let error = TransferError(TransferError.Code(code.description), message, outcome: outcome)
            let end = TransferEnd(
                result: .failure(error), evidence: TransferCounters(),
                metrics: ended.last?.metrics ?? TransferMetrics())
            report(end, outcome)
        }
    }

    /// Sets the counters of an end with the response of the application, which covers the whole body.
    private func complete(_ end: inout TransferEnd, _ exchange: ResumeExchange?) {
        // The length is known: the whole body was sent.
        guard let length = upload.length else { return }
        let start = exchange?.range?.lowerBound ?? length
        if let url = upload.storedURL { end.resumption = ResumptionState(uploadURL: url) }
        end.evidence.announced = length
        end.evidence.sent += start
        end.evidence.acknowledged += start
        if case .success(let response) = end.result, response.head.status.kind == .successful {
            end.evidence.sent = length
            end.evidence.acknowledged = length
            end.evidence.isBodyComplete = true
        }
    }

    /// Reports an end with what is known of the whole upload.
    private func report(_ end: TransferEnd?, _ outcome: UploadOutcome) {
        guard var end else { return }
        // That of a part, which may be less certain: its creation may have been rejected.
        var outcome = end.resumption?.outcome?.lessCertain(than: outcome) ?? outcome
        // A response about the upload's state is a rejection, unless the server may have acted before.
        if case .success = end.result, !outcome.mayHaveActed { outcome = .rejected }
        let summary = upload.summary
        end.resumption = ResumptionState(
            isRepeatable: summary.isRepeatable, hasAdvanced: summary.hasAdvanced, outcome: outcome)
        end.evidence = TransferCounters(
            announced: upload.length, requestAcknowledged: end.evidence.requestAcknowledged,
            isBodyComplete: outcome.mayHaveActed, sawResponseHead: end.evidence.sawResponseHead)
        if case .failure(var error) = end.result {
            error.outcome = outcome
            end.result = .failure(error)
        }
        sink.transfer(.ended(end))
    }

    /// Ends an attempt that was cancelled while no request was running.
    private func endCancelled() {
        end(with: TransferError(.cancelled, "The upload was cancelled.", outcome: .unknown))
    }

    /// Ends an attempt while no request is running. The outcome of the error is replaced by that of the upload.
    private func end(with error: TransferError) {
        let mustEnd = state.withLock { state -> Bool in
            guard !state.hasEnded else { return false }
            state.lastEnd = TransferEnd(result: .failure(error), evidence: TransferCounters())
            return true
        }
        guard mustEnd else { return }
        upload.stop(mayBeProcessed: false)
        finish(.last(isFinal: false))
    }
}

// MARK: - Control

extension ResumableAttempt {
    func cancel() {
        let (control, work) = state.withLock { ($0.requested.cancel(), $0.work.take()) }
        if let control { return control.cancel() }
        guard let work else { return }
        work.cancel()
        endCancelled()
    }

    /// Ends the attempt after the current request, of which the server might otherwise keep nothing.
    func stopAfterRequest() {
        let work = state.withLock { state in
            state.isStopping = true
            return state.work.take()
        }
        guard let work else { return }
        work.cancel()
        endCancelled()
    }

    func pause() { state.withLock { $0.requested.setPaused(true) }?.pause() }
    func resume() { state.withLock { $0.requested.setPaused(false) }?.resume() }
    func limit(to rate: ByteCount?) { state.withLock { $0.requested.limit(to: rate) }?.limit(to: rate) }
}

/// Adds the number of the exchange to each event, so that late events are detected.
private final class ExchangeSink: TransferSink {
    private let attempt: ResumableAttempt
    private let number: Int

    init(attempt: ResumableAttempt, number: Int) {
        self.attempt = attempt
        self.number = number
    }

    func transfer(_ event: TransferEvent) { attempt.transfer(event, number: number) }
    var wantsProgress: Bool { attempt.wantsProgress }
}

/// Ignores the result of a request.
final class IgnoringSink: TransferSink {
    func transfer(_ event: TransferEvent) {}
    var wantsProgress: Bool { false }
}
