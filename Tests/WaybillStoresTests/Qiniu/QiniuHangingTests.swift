import FoundationEssentials
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

/// Code of the caller that does not return, and responses that don't state what happened.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct QiniuHangingTests {
    @Test func `a cancel does not wait for a token provider that ignores cancellation`() async throws {
        let fixture = try QiniuFixture()
        let waiters = Locked<[CheckedContinuation<Void, Never>]>([])
        let asked = Watched(0)
        let tokens = QiniuTokens.provider { _ in
            await withCheckedContinuation { waiter in
                waiters.withLock { $0.append(waiter) }
                asked.update { $0 += 1 }
            }
            throw CancellationError()
        }
        let upload = fixture.client(tokens: tokens).startUpload(.data([1]), to: "k")
        try await asked.waitUntil { $0 == 1 }
        upload.cancel()
        let error = try await #require(throws: StoreError.self) { try await upload.value }
        #expect(error.isCancelled, "\(error)")
        for waiter in waiters.withLock({ $0 }) { waiter.resume() }
    }

    @Test func `cancelling a batch cancels the closure of the next item`() async throws {
        let fixture = try QiniuFixture()
        let asked = Watched(0)
        let batch = fixture.client().startBatch(of: 0..<10, maximumConcurrentRequests: 2) { number in
            asked.update { $0 += 1 }
            if number == 1 { try await Task.sleep(for: .seconds(3_600)) }
            return QiniuBatchWork(.data([1]), to: "\(number)")
        }
        try await asked.waitUntil { $0 == 2 }
        batch.cancel()
        let summary = await batch.summary
        #expect(summary.cancelled >= 1 && summary.failed == 0, "\(summary)")
    }

    @Test func `an object that may be stored is not sent again when its parts are gone`() async throws {
        let fixture = try QiniuFixture()
        let file = try fixture.file(2 << 20)
        fixture.store.fail(.refuse(504, ""), on: .complete)
        fixture.store.fail(.forget, on: .complete)
        let error = try #require(
            await QiniuFixture.failure { () async throws(StoreError) in
                try await fixture.client { $0.formThreshold = .bytes(0) }.upload(.file(path: file.path), to: "k")
            })
        #expect(error.code == .uploadGone && error.outcome == .unknown, "\(error)")
        #expect(try await fixture.store.settled().log(.begin).count == 1)
    }
}
