import Testing
import WaybillCore

@testable import WaybillStores

struct QiniuRetryTests {
    private typealias ResponseFacts = QiniuRetry.ResponseFacts

    /// The step after each status, for each type of request.
    static let table: [(status: Int, message: String, form: QiniuRetry.Step, part: QiniuRetry.Step)] = [
        (200, "", .accept, .accept), (298, "", .fail, .fail),
        (400, "bad request", .fail, .fail),
        (400, "incorrect region, please use up-z2.qiniup.com", .refreshRegions, .refreshRegions),
        (400, "transfer acceleration is not configured on this bucket", .nextHost, .nextHost),
        (401, "bad token", .freshToken, .freshToken), (403, "", .fail, .fail), (404, "", .fail, .fail),
        (405, "", .fail, .fail), (406, "", .fail, .fail), (413, "", .fail, .fail), (419, "", .fail, .fail),
        (429, "", .nextHost, .nextHost), (478, "", .fail, .fail),
        (500, "", .nextHost, .nextHost), (501, "", .fail, .fail), (502, "", .nextHost, .nextHost),
        (503, "", .nextHost, .nextHost), (504, "", .nextHost, .nextHost), (509, "", .fail, .fail),
        (571, "", .slowDown, .slowDown), (573, "", .slowDown, .slowDown), (579, "", .stored, .stored),
        (599, "", .nextHost, .nextHost), (608, "", .fail, .fail), (612, "", .fail, .restart), (614, "", .fail, .fail),
        (616, "", .fail, .fail), (618, "", .fail, .fail), (619, "", .fail, .fail), (630, "", .fail, .fail),
        (631, "", .fail, .fail), (632, "", .fail, .fail), (640, "", .fail, .fail), (701, "", .fail, .restart),
    ]

    @Test(arguments: table.indices) func `each status has its retry step`(index: Int) {
        let row = Self.table[index]
        let outcome: UploadOutcome? = (200..<300).contains(row.status) ? nil : .rejected
        let facts = QiniuRetry.ResponseFacts(status: row.status, message: row.message, outcome: outcome)
        for isRepeatable in [false, true] {
            #expect(QiniuRetry.step(after: facts, of: .form, isRepeatable: isRepeatable) == row.form)
            #expect(QiniuRetry.step(after: facts, of: .begin, isRepeatable: isRepeatable) == row.form)
            for operation in [QiniuRetry.Operation.part, .complete, .list] {
                #expect(QiniuRetry.step(after: facts, of: operation, isRepeatable: isRepeatable) == row.part)
            }
        }
    }

    @Test func `the session retries only statuses that are not final`() {
        for row in Self.table {
            let isRepeated = QiniuRetry.transient.contains(row.status)
            #expect(isRepeated == (row.form == .nextHost && row.status != 400) || row.status == 701, "\(row.status)")
        }
        #expect(!QiniuRetry.transient.contains(579))
        #expect(!QiniuRetry.transient.contains(571) && !QiniuRetry.transient.contains(573))
    }

    @Test func `responses without a Qiniu request ID are not trusted`() {
        for status in [200, 302, 400, 401, 403, 503, 579, 612] {
            let facts = QiniuRetry.ResponseFacts(status: status, hasRequestID: false, outcome: .rejected)
            #expect(QiniuRetry.step(after: facts, of: .part, isRepeatable: true) == .nextHost)
        }
    }

    @Test func `a lost response is retried only if nothing was stored or repeating is harmless`() {
        for operation in QiniuRetry.Operation.allCases {
            func step(_ outcome: UploadOutcome, _ isRepeatable: Bool, isPermanent: Bool = false) -> QiniuRetry.Step {
                QiniuRetry.step(
                    after: QiniuRetry.ResponseFacts(outcome: outcome, isPermanentFailure: isPermanent), of: operation,
                    isRepeatable: isRepeatable)
            }
            #expect(step(.notSent, false) == .nextHost && step(.incomplete(acknowledged: 5), false) == .nextHost)
            #expect(step(.unknown, true) == .nextHost && step(.unknown, false) == .fail)
            #expect(step(.notSent, true, isPermanent: true) == .fail)
            #expect(step(.rejected, true) == .fail)
        }
    }

    @Test func `the delay doubles up to 30 seconds`() {
        #expect((1...8).map { QiniuThrottle.delay(after: $0) } == [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
    }
}
