import FoundationEssentials
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct QiniuBatchTests {
    private struct Refused: Error {}

    @Test func `200 photos through 3 slots with 20 random cancels end once each`() async throws {
        var random = SeededGenerator()
        let fixture = try QiniuFixture()
        let client = fixture.client()
        let ends = Locked<[Int: Int]>([:])
        let lateProgress = Locked(0)
        let completed = Watched(0)
        let cancels = (0..<20).map { _ in Int.random(in: 0..<200, using: &random) }
        let moments = cancels.map { _ in Int.random(in: 0..<200, using: &random) }
        let hold = Gate()
        fixture.store.hold(at: hold)
        let batch = client.startBatch(of: 0..<200, maximumConcurrentRequests: 3) { number in
            QiniuBatchWork(
                .data(QiniuFixture.bytes(20_000 + number), fileName: "\(number).jpg"), to: "photos/\(number).jpg")
        } onProgress: { index, _ in
            if ends.withLock({ $0[index] != nil }) { lateProgress.withLock { $0 += 1 } }
        } onEnd: { result in
            ends.withLock { $0[result.index, default: 0] += 1 }
        }
        batch.onAllComplete { _ in completed.update { $0 += 1 } }
        // All three slots are observed in use before the store sends its first response.
        try await fixture.store.waitUntil { $0.inFlight == 3 }
        #expect(batch.executing.count <= 5)
        hold.open()
        var results: [BatchResult<Int, QiniuObject, StoreError>] = []
        for await result in batch.results {
            results.append(result)
            for (place, moment) in moments.enumerated() where moment == results.count {
                batch.cancel(at: cancels[place])
            }
        }
        let summary = await batch.summary
        #expect(ends.withLock { $0 } == Dictionary(uniqueKeysWithValues: (0..<200).map { ($0, 1) }))
        #expect(Set(results.map(\.index)) == Set(0..<200) && results.count == 200)
        #expect(summary.succeeded + summary.cancelled == 200 && summary.failed == 0, "\(summary.failures)")
        #expect(summary.cancelled <= 20)
        #expect(lateProgress.withLock { $0 } == 0)
        let state = try await fixture.store.settled()
        #expect(state.peakInFlight == 3)
        for result in results {
            switch result.result {
            case .success(let object):
                #expect(state.object("photos/\(result.index).jpg")?.hash == object.hash)
            case .failure(let error): #expect(error.isCancelled && cancels.contains(result.index), "\(error)")
            }
        }
        try await completed.waitUntil { $0 == 1 }
        print("batch: \(summary), peak \(state.peakInFlight), \(state.log(.form).count) requests")
    }

    @Test func `cancelling a batch ends every item once, including those not started`() async throws {
        let fixture = try QiniuFixture()
        let hold = Gate()
        fixture.store.hold(at: hold)
        let ends = Locked<[Int: Int]>([:])
        let session = UploadSession()
        let batch = fixture.client(session: session).startBatch(of: Array(0..<50)) { number in
            QiniuBatchWork(.data([UInt8(number)]), to: "\(number)")
        } onEnd: { result in
            ends.withLock { $0[result.index, default: 0] += 1 }
        }
        try await fixture.store.waitUntil { $0.inFlight == 3 }
        // Two more wait for a slot, which they would get when the first one is cancelled.
        while session.uploads.count < 5 { await Task.yield() }
        batch.cancel()
        batch.cancel()
        let summary = await batch.summary
        #expect(summary.cancelled == 50 && !summary.isSuccess)
        #expect(ends.withLock { $0.count == 50 && $0.values.allSatisfy { $0 == 1 } })
        #expect(fixture.store.state.log(.form).count == 3)
        hold.open()
    }

    @Test func `a failed item stops the others only with onFailure stop`() async throws {
        for policy in UploadBatchOptions.FailurePolicy.allCases {
            let fixture = try QiniuFixture()
            var options = UploadBatchOptions()
            options.onFailure = policy
            let batch = fixture.client().startBatch(of: 0..<20, maximumConcurrentRequests: 1, options: options) {
                number in
                if number == 4 { throw Refused() }
                return QiniuBatchWork(.data([UInt8(number)]), to: "\(number)")
            }
            let summary = await batch.summary
            #expect(summary.failed == 1 && summary.failures.map(\.index) == [4])
            #expect(summary.failures.first?.error.cause is Refused)
            #expect(policy == .continue ? summary.succeeded == 19 : summary.cancelled >= 15)
            #expect(summary.succeeded + summary.cancelled == 19)
        }
    }

    @Test func `large items share the request limit of the batch`() async throws {
        let fixture = try QiniuFixture()
        let batch = fixture.client { $0.maximumConcurrentParts = 3 }.startBatch(of: 0..<4, maximumConcurrentRequests: 2)
        { number in
            QiniuBatchWork(.data(QiniuFixture.bytes(3 * 1_048_576)), to: "\(number)")
        }
        var last: UploadBatchProgress?
        for await progress in batch.progress {
            #expect(progress.acknowledged >= last?.acknowledged ?? 0)
            last = progress
        }
        #expect(last?.isFinished == true && last?.fraction == 1 && last?.succeeded == 4)
        let summary = await batch.summary
        #expect(summary.isSuccess && summary.acknowledged == 4 * 3 * 1_048_576)
        #expect(fixture.store.state.peakInFlight == 2)
        #expect("\(summary)" == "4 succeeded, 0 failed, 0 cancelled")
    }

    @Test func `a paused batch sends nothing until it is resumed`() async throws {
        let fixture = try QiniuFixture()
        let hold = Gate()
        fixture.store.hold(at: hold)
        let batch = fixture.client().startBatch(of: 0..<10, maximumConcurrentRequests: 1) { number in
            QiniuBatchWork(.data([UInt8(number)]), to: "\(number)")
        }
        try await fixture.store.waitUntil { $0.inFlight == 1 }
        batch.pause()
        hold.open()
        try await fixture.store.settled()
        #expect(fixture.store.state.log(.form).count == 1)
        batch.resume()
        #expect(await batch.summary.succeeded == 10)
    }

    @Test func `an empty batch succeeds, and cancelling a waiting task cancels the batch`() async throws {
        let fixture = try QiniuFixture()
        let none = fixture.client().startBatch(of: [Int]()) { _ in QiniuBatchWork(.data([]), to: nil) }
        #expect(await none.summary.isSuccess)
        let hold = Gate()
        fixture.store.hold(at: hold)
        let batch = fixture.client().startBatch(of: 0..<3) { QiniuBatchWork(.data([UInt8($0)]), to: "\($0)") }
        try await fixture.store.waitUntil { $0.inFlight == 3 }
        let waiter = Task { await batch.summary }
        waiter.cancel()
        #expect(await waiter.value.cancelled == 3)
        hold.open()
    }
}
