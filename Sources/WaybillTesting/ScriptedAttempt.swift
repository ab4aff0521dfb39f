import HTTPTypes
import WaybillCore

/// Plays a script: reads the body, reports to the sink, and ends exactly once.
///
/// Used by a single task.
final class ScriptedAttempt: @unchecked Sendable {
    private static let pieceSize: Int64 = 16 * 1_024

    let control = Observed(ScriptedControlState())
    private let request: TransferRequest
    private let script: TransferScript
    private let sink: any TransferSink
    private let record: @Sendable (ArraySlice<UInt8>) -> Void
    private let onEnd: @Sendable (TransferEnd) -> Void
    private var feed: ScriptedFeed?
    private var snapshot = ScriptedSnapshot()
    private var ignoresCancellation = false

    init(
        _ request: TransferRequest, _ script: TransferScript, sink: any TransferSink,
        record: @escaping @Sendable (ArraySlice<UInt8>) -> Void, onEnd: @escaping @Sendable (TransferEnd) -> Void
    ) {
        self.request = request
        self.script = script
        self.sink = sink
        self.record = record
        self.onEnd = onEnd
    }

    func run() async {
        let result: Result<TransferResponse, TransferError>
        do throws(TransferError) {
            result = .success(try await play())
        } catch {
            result = .failure(error)
        }
        feed?.close()
        let end = snapshot.end(result)
        onEnd(end)
        sink.transfer(.ended(end))
    }

    // MARK: - Steps

    private func play() async throws(TransferError) -> TransferResponse {
        snapshot.evidence.announced = request.body == nil ? 0 : request.body?.length
        try checkCancel()
        try openBody()
        for step in script.steps {
            try await waitWhilePaused()
            if let response = try await perform(step) { return response }
        }
        try await waitWhilePaused()
        try await receive(nil)
        return try respond(HTTPResponse(status: .ok), body: [])
    }

    /// - Returns: The response if the step ends the attempt.
    private func perform(_ step: TransferScript.Step) async throws(TransferError) -> TransferResponse? {
        switch step {
        case .connect: connect(isReused: false)
        case .connectReused: connect(isReused: true)
        case .acknowledgeHead: acknowledge(0)
        case .receive(let count): try await receive(count)
        case .receiveRest: try await receive(nil)
        case .receiveAtRate(let count, let rate, let clock): try await receive(count, pace: Pace(rate, clock))
        case .sendUnacknowledged(let count): try await receive(count, isAcknowledged: false)
        case .acknowledge(let count): acknowledge(count)
        case .accuracy(let accuracy): snapshot.accuracy = accuracy
        case .head(let head): receiveHead(head)
        case .respond(let head, let body): return try respond(head, body: body)
        case .fail(let code, let outcome):
            throw snapshot.error(code, "The script ended the attempt with this error.", outcome: outcome)
        case .wait(let gate): await gate.pass()
        // A cancelled sleep is noticed before the next step.
        case .delay(let duration, let clock): try? await clock.sleep(for: duration)
        case .hang: await ScriptGate().pass()
        case .ignoreCancel: ignoresCancellation = true
        }
        return nil
    }

    private func checkCancel() throws(TransferError) {
        guard Task.isCancelled, !ignoresCancellation else { return }
        throw snapshot.error(.cancelled, "The attempt was cancelled.")
    }

    /// Waits while the attempt is paused; throws if it is cancelled.
    private func waitWhilePaused() async throws(TransferError) {
        try checkCancel()
        guard control.value.isPaused else { return }
        await control.wait { !$0.isPaused }
        try checkCancel()
    }

    private func openBody() throws(TransferError) {
        guard let body = request.body, body.length != 0 else { return }
        do {
            feed = try ScriptedFeed(body) { [control] in control.update { $0.wakes += 1 } }
        } catch {
            throw snapshot.error(.bodyFailed, "The body could not be read: \(error)", cause: error)
        }
    }

    private func connect(isReused: Bool) {
        guard snapshot.connection == nil else { return }
        let connection = TransferConnection(isReused: isReused, peerAddress: "192.0.2.1", peerPort: 80)
        snapshot.connection = connection
        snapshot.evidence.isBodyComplete = feed == nil
        snapshot.evidence.isConnectionReused = isReused
        sink.transfer(.connected(connection))
    }

    private func receiveHead(_ head: HTTPResponse) {
        connect(isReused: false)
        guard !snapshot.evidence.sawResponseHead else { return }
        snapshot.head = head
        snapshot.evidence.sawResponseHead = true
        snapshot.evidence.requestAcknowledged = true
        sink.transfer(.responseHead(head))
    }

    private func respond(_ head: HTTPResponse, body: [UInt8]) throws(TransferError) -> TransferResponse {
        receiveHead(head)
        guard head.status.kind == .successful, !snapshot.isBodyAcknowledged else {
            return TransferResponse(head: head, body: body)
        }
        throw snapshot.error(
            .bodyNotTaken, "The peer responded with \(head.status.code) before it had received the whole body.")
    }

    // MARK: - The body

    private func receive(_ count: Int64?, isAcknowledged: Bool = true, pace: Pace? = nil) async throws(TransferError) {
        connect(isReused: false)
        var pace = pace
        var remaining = count ?? .max
        while remaining > 0, !snapshot.evidence.isBodyComplete {
            try await waitWhilePaused()
            let rest = snapshot.evidence.announced.map { $0 - snapshot.evidence.sent } ?? .max
            let size = min(remaining, rest, pace?.piece ?? Self.pieceSize)
            if await pace?.isDue(size) == false {
                try checkCancel()
                pace?.isInterrupted = true
                continue
            }
            // The attempt may have been paused while this slept.
            try await waitWhilePaused()
            let count = try await receivePiece(size)
            remaining -= count
            snapshot.evidence.sent += count
            pace?.received += count
            if isAcknowledged { acknowledge(nil) } else { report() }
        }
        if isAcknowledged { acknowledge(nil) }
    }

    private func receivePiece(_ count: Int64) async throws(TransferError) -> Int64 {
        let wakes = control.value.wakes
        let result: ScriptedFeed.ReadResult
        do {
            result = try feed?.read(atMost: Int(count)) ?? .end
        } catch {
            throw snapshot.error(.bodyFailed, "The body could not be read: \(error)", cause: error)
        }
        snapshot.evidence.isBodyComplete = feed?.isAtEnd ?? true
        switch result {
        case .bytes(let bytes):
            record(bytes[...])
            return Int64(bytes.count)
        case .later:
            await control.wait(ignoresCancellation: ignoresCancellation) { $0.wakes != wakes }
            return 0
        case .end: return 0
        }
    }

    /// - Parameter count: The number of bytes; `nil` for all sent bytes, because acknowledgements are cumulative.
    private func acknowledge(_ count: Int64?) {
        connect(isReused: false)
        snapshot.evidence.requestAcknowledged = true
        let inFlight = snapshot.evidence.sent - snapshot.evidence.acknowledged
        snapshot.evidence.acknowledged += max(0, min(count ?? inFlight, inFlight))
        report()
        guard snapshot.isBodyAcknowledged, !snapshot.hasReportedBody, feed != nil else { return }
        snapshot.hasReportedBody = true
        sink.transfer(.bodyAcknowledged)
    }

    private func report() {
        guard feed != nil, snapshot.progress != snapshot.reported, sink.wantsProgress else { return }
        snapshot.reported = snapshot.progress
        sink.transfer(.progress(snapshot.progress))
    }
}

/// The external influences on a running attempt: its control pauses it, its body wakes it.
struct ScriptedControlState: Sendable {
    var isPaused = false
    /// The number of wake-ups by the body.
    var wakes = 0
}

struct ScriptedControl: TransferControl {
    let task: Task<Void, Never>
    let control: Observed<ScriptedControlState>

    func cancel() { task.cancel() }
    func pause() { control.update { $0.isPaused = true } }
    func resume() { control.update { $0.isPaused = false } }
    // Rate limits do not apply: the script determines the rate.
    func limit(to rate: ByteCount?) {}
}
