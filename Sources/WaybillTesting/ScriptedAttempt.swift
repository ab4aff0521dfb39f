import HTTPTypes
import WaybillCore

/// Plays a script: reads the body, tells the sink, ends exactly once.
///
/// Used by one task alone.
final class ScriptedAttempt: @unchecked Sendable {
    private static let pieceSize: Int64 = 16 * 1_024

    private let request: TransferRequest
    private let script: TransferScript
    private let sink: any TransferSink
    private let record: @Sendable (ArraySlice<UInt8>) -> Void
    private let isOver: @Sendable (TransferEnd) -> Void
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private var evidence = TransferEvidence()
    private var reader: (any BodyReader)?
    private var isDeaf = false
    private var metrics = TransferMetrics()

    init(
        _ request: TransferRequest, _ script: TransferScript, sink: any TransferSink,
        record: @escaping @Sendable (ArraySlice<UInt8>) -> Void, isOver: @escaping @Sendable (TransferEnd) -> Void
    ) {
        self.request = request
        self.script = script
        self.sink = sink
        self.record = record
        self.isOver = isOver
        (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func run() async {
        evidence.announced = request.body == nil ? 0 : request.body?.length
        evidence.isBodyComplete = evidence.announced == 0
        let result: Result<TransferResponse, TransferError>
        do throws(TransferError) {
            result = .success(try await play())
        } catch {
            result = .failure(error)
        }
        reader?.close()
        let end = TransferEnd(result: result, evidence: evidence, metrics: metrics)
        isOver(end)
        sink.transfer(.ended(end))
    }

    private func play() async throws(TransferError) -> TransferResponse {
        for step in script.steps {
            try checkCancel()
            switch step {
            case .connect: connect()
            case .take(let count): try await take(count, isAcknowledged: true)
            case .takeUnacknowledged(let count): try await take(count, isAcknowledged: false)
            case .takeRest: try await takeRest()
            case .head(let head): see(head)
            case .answer(let head, let body):
                if !evidence.sawResponseHead { see(head) }
                return TransferResponse(head: head, body: body)
            case .fail(let code, let outcome):
                throw TransferError(code, "as the script says", outcome: outcome ?? likelyOutcome)
            case .wait(let gate): await gate.pass()
            case .hang: await ScriptGate().pass()
            case .ignoreCancel: isDeaf = true
            }
        }
        try checkCancel()
        let head = HTTPResponse(status: .ok)
        if !evidence.sawResponseHead { see(head) }
        return TransferResponse(head: head)
    }

    private func checkCancel() throws(TransferError) {
        guard Task.isCancelled, !isDeaf else { return }
        throw TransferError(.cancelled, "cancelled", outcome: likelyOutcome)
    }

    private func connect() {
        let connection = TransferConnection(isReused: false, peerAddress: "192.0.2.1", peerPort: 80)
        metrics.connection = connection
        sink.transfer(.connected(connection))
    }

    private func see(_ head: HTTPResponse) {
        evidence.sawResponseHead = true
        evidence.requestAcknowledged = true
        sink.transfer(.responseHead(head))
    }

    private func takeRest() async throws(TransferError) {
        while !evidence.isBodyComplete { try await take(Self.pieceSize, isAcknowledged: true) }
        evidence.acknowledged = evidence.sent
        evidence.requestAcknowledged = true
        sink.transfer(.bodyAcknowledged)
    }

    private func take(_ count: Int64, isAcknowledged: Bool) async throws(TransferError) {
        var left = count
        while left > 0, !evidence.isBodyComplete {
            try checkCancel()
            let taken = try await takePiece(min(left, Self.pieceSize))
            left -= taken
            evidence.sent += taken
            if evidence.sent == evidence.announced { evidence.isBodyComplete = true }
            if isAcknowledged {
                evidence.acknowledged = evidence.sent
                evidence.requestAcknowledged = true
            }
            guard taken > 0, sink.wantsProgress else { continue }
            sink.transfer(
                .progress(
                    TransferProgress(sent: evidence.sent, acknowledged: evidence.acknowledged, accuracy: .exact)))
        }
    }

    private func takePiece(_ count: Int64) async throws(TransferError) -> Int64 {
        guard let body = request.body else {
            evidence.isBodyComplete = true
            return 0
        }
        do {
            let reader = try reader ?? body.makeReader(wake: { [wake] in wake.yield() })
            self.reader = reader
            let (answer, bytes) = try Self.read(reader, atMost: Int(count))
            record(bytes[...])
            switch answer {
            case .bytes: return Int64(bytes.count)
            case .end: evidence.isBodyComplete = true
            case .later: for await _ in wakes { break }
            }
            return 0
        } catch {
            throw TransferError(.bodyFailed, "the body failed: \(error)", outcome: likelyOutcome, cause: error)
        }
    }

    private static func read(_ reader: any BodyReader, atMost count: Int) throws -> (BodyRead, [UInt8]) {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { unsafe room.deallocate() }
        var output = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        let answer = try reader.read(into: &output)
        let filled = unsafe output.finalize(for: room)
        return (answer, unsafe Array(room[..<filled]))
    }

    /// What follows from the bytes, if the script doesn't claim something else.
    private var likelyOutcome: UploadOutcome {
        if !evidence.requestAcknowledged { return .notSent }
        return evidence.isBodyComplete ? .unknown : .incomplete(acknowledged: evidence.acknowledged)
    }
}
