import HTTPTypes
import Testing
import WaybillCore

@testable import Waybill

@Suite struct OutcomeTests {
    @Test(arguments: [
        (TransferCounters(), nil, UploadOutcome.notSent),
        (TransferCounters(announced: 10, sent: 8), nil, .notSent),
        (TransferCounters(announced: 10, sent: 10, isBodyComplete: true), nil, .unknown),
        (TransferCounters(announced: 10, sent: 10, isBodyComplete: true, isConnectionReused: true), nil, .notSent),
        (TransferCounters(isBodyComplete: true, isConnectionReused: true), nil, .unknown),
        (TransferCounters(announced: 10, requestAcknowledged: true), nil, .incomplete(acknowledged: 0)),
        (
            TransferCounters(announced: 10, sent: 9, acknowledged: 4, requestAcknowledged: true), nil,
            .incomplete(acknowledged: 4)
        ),
        (TransferCounters(announced: 10, sent: 9, acknowledged: 4), nil, .incomplete(acknowledged: 4)),
        (
            TransferCounters(announced: 10, sent: 10, acknowledged: 4, requestAcknowledged: true, isBodyComplete: true),
            nil, .unknown
        ),
        (TransferCounters(requestAcknowledged: true, sawResponseHead: true), 413, .rejected),
        (TransferCounters(requestAcknowledged: true, isBodyComplete: true, sawResponseHead: true), 413, .unknown),
        (TransferCounters(requestAcknowledged: true, sawResponseHead: true), 307, .rejected),
        (TransferCounters(requestAcknowledged: true, sawResponseHead: true), 200, .unknown),
        (TransferCounters(requestAcknowledged: true, sawResponseHead: true), nil, .unknown),
    ])
    func `an outcome is no more certain than the evidence`(
        evidence: TransferCounters, status: Int?, outcome: UploadOutcome
    ) {
        #expect(UploadOutcome(of: evidence, status: status.map { .init(code: $0) }) == outcome)
    }

    @Test(arguments: [
        (200, true, UploadOutcome.unknown), (200, false, .unknown), (302, true, .rejected), (400, true, .rejected),
        (408, true, .unknown), (408, false, .rejected), (425, true, .rejected), (429, true, .rejected),
        (500, true, .unknown), (500, false, .rejected), (501, true, .rejected), (502, true, .unknown),
        (503, true, .rejected), (504, true, .unknown), (504, false, .rejected), (505, true, .rejected),
        (507, true, .rejected), (511, true, .rejected), (520, true, .unknown), (524, true, .unknown),
        (599, true, .unknown),
    ])
    func `a status decides whether the server may have acted on a whole body`(
        status: Int, isBodyComplete: Bool, outcome: UploadOutcome
    ) {
        let evidence = TransferCounters(isBodyComplete: isBodyComplete, sawResponseHead: true)
        #expect(UploadOutcome(of: evidence, status: .init(code: status), isResponseComplete: true) == outcome)
    }

    @Test func `the less certain of two outcomes applies`() {
        #expect(UploadOutcome.notSent.lessCertain(than: .incomplete(acknowledged: 3)) == .incomplete(acknowledged: 3))
        #expect(
            UploadOutcome.incomplete(acknowledged: 9).lessCertain(than: .incomplete(acknowledged: 3))
                == .incomplete(acknowledged: 9))
        #expect(UploadOutcome.unknown.lessCertain(than: .notSent) == .unknown)
        #expect(UploadOutcome.rejected.lessCertain(than: .incomplete(acknowledged: 1)) == .rejected)
    }

    @Test func `observed progress counts when the evidence of the transport omits it`() {
        var record = AttemptRecord(number: 1)
        record.add(.progress(TransferProgress(sent: 8, acknowledged: 5, accuracy: .exact)), total: 10)
        let lost = TransferError(.connectionLost, "lost", outcome: .notSent)
        let end = TransferEnd(result: .failure(lost), evidence: TransferCounters())
        record.add(.ended(end), total: 10)
        #expect(record.outcome(of: lost) == .incomplete(acknowledged: 5))
    }
}
