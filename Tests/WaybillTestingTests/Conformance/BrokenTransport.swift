import HTTPTypes
import TestSupport
import WaybillCore

/// A transport that violates a single rule of the contract. It wraps a conforming transport.
struct BrokenTransport: UploadTransport {
    enum Fault: CaseIterable {
        case endsTwice, reportsAfterEnd, connectsTwice, swallowsCancel, ignoresPause, succeedsOnTruncatedResponse
        case claimsNotSent
        case decreasesProgress, countsTooMuch, readsPastEnd, leavesReaderOpen, closesTwice, neverWakes, losesByte,
            dropsCause
        case reportsUnknownForRejection
    }

    let fault: Fault
    let base: any UploadTransport
    /// The controls of started transfers, used to cancel those that a fault left hanging.
    let started: Watched<[any TransferControl]>

    func start(_ request: TransferRequest, sink: any TransferSink) -> any TransferControl {
        var request = request
        request.body = request.body.map { BrokenBody(fault: fault, base: $0) }
        let control = base.start(request, sink: BrokenSink(fault: fault, base: sink))
        started.update { $0.append(control) }
        return BrokenControl(fault: fault, base: control)
    }
}

private struct BrokenControl: TransferControl {
    let fault: BrokenTransport.Fault
    let base: any TransferControl

    func cancel() { if fault != .swallowsCancel { base.cancel() } }
    func pause() { if fault != .ignoresPause { base.pause() } }
    func resume() { base.resume() }
    func limit(to rate: ByteCount?) { base.limit(to: rate) }
}

private final class BrokenSink: TransferSink {
    let fault: BrokenTransport.Fault
    let base: any TransferSink

    init(fault: BrokenTransport.Fault, base: any TransferSink) {
        self.fault = fault
        self.base = base
    }

    var wantsProgress: Bool { base.wantsProgress }

    func transfer(_ event: TransferEvent) {
        switch (fault, event) {
        case (.connectsTwice, .connected): base.transfer(event)
        case (.decreasesProgress, .progress(let progress)) where progress.acknowledged > 50_000:
            base.transfer(.progress(TransferProgress(sent: 1, acknowledged: 1, accuracy: .exact)))
        case (.countsTooMuch, .progress(var progress)):
            progress.sent += 1
            return base.transfer(.progress(progress))
        case (_, .ended(let end)): return reportEnd(end)
        default: break
        }
        base.transfer(event)
    }

    private func reportEnd(_ end: TransferEnd) {
        var end = end
        switch (fault, end.result) {
        case (.endsTwice, _): base.transfer(.ended(end))
        case (.succeedsOnTruncatedResponse, .failure(let error)) where error.status == .ok:
            end.result = .success(TransferResponse(head: HTTPResponse(status: .ok)))
        case (.claimsNotSent, .failure(var error)):
            error.outcome = .notSent
            end.result = .failure(error)
        case (.dropsCause, .failure(var error)):
            error.cause = nil
            end.result = .failure(error)
        case (.reportsUnknownForRejection, .success(let response)) where response.head.status.code == 413:
            end.result = .failure(TransferError(.connectionLost, "rejected", outcome: .unknown))
        default: break
        }
        base.transfer(.ended(end))
        guard fault == .reportsAfterEnd else { return }
        base.transfer(.progress(TransferProgress(sent: 0, acknowledged: 0, accuracy: .exact)))
    }
}

private struct BrokenBody: UploadBody {
    let fault: BrokenTransport.Fault
    let base: any UploadBody

    var length: Int64? { base.length }
    var isReplayable: Bool { base.isReplayable }

    func makeReader(wake: @escaping @Sendable () -> Void) throws -> any BodyReader {
        let fault = fault
        return Reader(fault, try base.makeReader { if fault != .neverWakes { wake() } })
    }

    private final class Reader: BodyReader {
        private let fault: BrokenTransport.Fault
        private let base: any BodyReader
        private var isFirst = true

        init(_ fault: BrokenTransport.Fault, _ base: any BodyReader) {
            self.fault = fault
            self.base = base
        }

        func read(into output: inout OutputRawSpan) throws -> BodyRead {
            let before = output.byteCount
            let result = try base.read(into: &output)
            switch (fault, result) {
            case (.readsPastEnd, .end): return try base.read(into: &output)
            case (.losesByte, .bytes(let count)) where isFirst:
                isFirst = false
                let end = before + count
                unsafe output.withUnsafeMutableBytes { buffer, _ in unsafe buffer[end - 1] ^= 0xFF }
            default: break
            }
            return result
        }

        func close() {
            if fault != .leavesReaderOpen { base.close() }
            if fault == .closesTwice { base.close() }
        }
    }
}
