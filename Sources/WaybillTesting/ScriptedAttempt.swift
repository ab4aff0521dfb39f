import HTTPTypes
import WaybillCore

/// Plays a script: reads the body, reports to the sink, and ends exactly once.
///
/// Used by a single task.
final class ScriptedAttempt: @unchecked Sendable {
    private static let pieceSize: Int64 = 16 * 1_024

    let steering = Observed(ScriptedControlState())
    private let request: TransferRequest
    private let script: TransferScript
    private let sink: any TransferSink
    private let record: @Sendable (ArraySlice<UInt8>) -> Void
    private let isOver: @Sendable (TransferEnd) -> Void
    private var feed: ScriptedFeed?
    private var sight = ScriptedSnapshot()
    private var ignoresCancellation = false

    init(
        _ request: TransferRequest, _ script: TransferScript, sink: any TransferSink,
        record: @escaping @Sendable (ArraySlice<UInt8>) -> Void, isOver: @escaping @Sendable (TransferEnd) -> Void
    ) {
        self.request = request
        self.script = script
        self.sink = sink
        self.record = record
        self.isOver = isOver
    }

    func run() async {
        let result: Result<TransferResponse, TransferError>
        do throws(TransferError) {
            result = .success(try await play())
        } catch {
            result = .failure(error)
        }
        feed?.close()
        let end = sight.end(result)
        isOver(end)
        sink.transfer(.ended(end))
    }

    // MARK: - Steps

    private func play() async throws(TransferError) -> TransferResponse {
        sight.evidence.announced = request.body == nil ? 0 : request.body?.length
        try checkCancel()
        try openBody()
        for step in script.steps {
            try await standStill()
            if let response = try await perform(step) { return response }
        }
        try await standStill()
        try await take(nil)
        return try answer(HTTPResponse(status: .ok), body: [])
    }

    /// - Returns: The response if the step ends the attempt.
    private func perform(_ step: TransferScript.Step) async throws(TransferError) -> TransferResponse? {
        switch step {
        case .connect: connect(isReused: false)
        case .connectReused: connect(isReused: true)
        case .acknowledgeHead: acknowledge(0)
        case .take(let count): try await take(count)
        case .takeRest: try await take(nil)
        case .takeAtRate(let count, let rate, let clock): try await take(count, pace: Pace(rate, clock))
        case .takeUnacknowledged(let count): try await take(count, isAcknowledged: false)
        case .acknowledge(let count): acknowledge(count)
        case .accuracy(let accuracy): sight.accuracy = accuracy
        case .head(let head): see(head)
        case .answer(let head, let body): return try answer(head, body: body)
        case .fail(let code, let outcome):
            throw sight.error(code, "The script ended the attempt with this error.", outcome: outcome)
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
        throw sight.error(.cancelled, "The attempt was cancelled.")
    }

    /// Waits while the attempt is paused; throws if it is cancelled.
    private func standStill() async throws(TransferError) {
        try checkCancel()
        guard steering.value.isPaused else { return }
        await steering.wait { !$0.isPaused }
        try checkCancel()
    }

    private func openBody() throws(TransferError) {
        guard let body = request.body, body.length != 0 else { return }
        do {
            feed = try ScriptedFeed(body) { [steering] in steering.update { $0.wakes += 1 } }
        } catch {
            throw sight.error(.bodyFailed, "The body could not be read: \(error)", cause: error)
        }
    }

    private func connect(isReused: Bool) {
        guard sight.connection == nil else { return }
        let connection = TransferConnection(isReused: isReused, peerAddress: "192.0.2.1", peerPort: 80)
        sight.connection = connection
        sight.evidence.isBodyComplete = feed == nil
        sight.evidence.isConnectionReused = isReused
        sink.transfer(.connected(connection))
    }

    private func see(_ head: HTTPResponse) {
        connect(isReused: false)
        guard !sight.evidence.sawResponseHead else { return }
        sight.head = head
        sight.evidence.sawResponseHead = true
        sight.evidence.requestAcknowledged = true
        sink.transfer(.responseHead(head))
    }

    private func answer(_ head: HTTPResponse, body: [UInt8]) throws(TransferError) -> TransferResponse {
        see(head)
        guard head.status.kind == .successful, !sight.isBodyAcknowledged else {
            return TransferResponse(head: head, body: body)
        }
        throw sight.error(
            .bodyNotTaken, "The peer responded with \(head.status.code) before it had received the whole body.")
    }

    // MARK: - The body

    private func take(_ count: Int64?, isAcknowledged: Bool = true, pace: Pace? = nil) async throws(TransferError) {
        connect(isReused: false)
        var pace = pace
        var left = count ?? .max
        while left > 0, !sight.evidence.isBodyComplete {
            try await standStill()
            let rest = sight.evidence.announced.map { $0 - sight.evidence.sent } ?? .max
            let size = min(left, rest, pace?.piece ?? Self.pieceSize)
            if await pace?.isDue(size) == false {
                try checkCancel()
                pace?.isInterrupted = true
                continue
            }
            // The attempt may have been paused while this slept.
            try await standStill()
            let taken = try await takePiece(size)
            left -= taken
            sight.evidence.sent += taken
            pace?.taken += taken
            if isAcknowledged { acknowledge(nil) } else { report() }
        }
        if isAcknowledged { acknowledge(nil) }
    }

    private func takePiece(_ count: Int64) async throws(TransferError) -> Int64 {
        let wakes = steering.value.wakes
        let answer: ScriptedFeed.Answer
        do {
            answer = try feed?.read(atMost: Int(count)) ?? .end
        } catch {
            throw sight.error(.bodyFailed, "The body could not be read: \(error)", cause: error)
        }
        sight.evidence.isBodyComplete = feed?.isAtEnd ?? true
        switch answer {
        case .bytes(let bytes):
            record(bytes[...])
            return Int64(bytes.count)
        case .later:
            await steering.wait(ignoresCancellation: ignoresCancellation) { $0.wakes != wakes }
            return 0
        case .end: return 0
        }
    }

    /// - Parameter count: The number of bytes; `nil` for all sent bytes, because acknowledgements are cumulative.
    private func acknowledge(_ count: Int64?) {
        connect(isReused: false)
        sight.evidence.requestAcknowledged = true
        let inFlight = sight.evidence.sent - sight.evidence.acknowledged
        sight.evidence.acknowledged += max(0, min(count ?? inFlight, inFlight))
        report()
        guard sight.isBodyAcknowledged, !sight.hasReportedBody, feed != nil else { return }
        sight.hasReportedBody = true
        sink.transfer(.bodyAcknowledged)
    }

    private func report() {
        guard feed != nil, sight.progress != sight.reported, sink.wantsProgress else { return }
        sight.reported = sight.progress
        sink.transfer(.progress(sight.progress))
    }
}
