import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct OSSBatchTests {
    private struct Refused: Error {}

    private static func bytes(_ number: Int, _ size: Int = 1_000) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
    }

    @Test func `a directory of files is stored, and random cancels end each item once`() async throws {
        var random = SeededGenerator()
        let fixture = try OSSFixture { configuration, _ in configuration.singleRequestLimit = .mebibytes(1) }
        let files = try (0..<60).map { number in
            try fixture.directory.write("\(number).jpg", Self.bytes(number, 5_000 + number))
        }
        let ends = Locked<[Int: Int]>([:])
        let lateProgress = Locked(0)
        let completed = Watched(0)
        let cancels = (0..<8).map { _ in Int.random(in: 0..<60, using: &random) }
        let hold = Gate()
        fixture.store.hold(at: hold)
        let batch = fixture.client.startBatch(of: files) { path in
            OSSBatchWork(.file(path: path), to: "photos/\(path.split(separator: "/").last ?? "")")
        } onProgress: { index, _ in
            if ends.withLock({ $0[index] != nil }) { lateProgress.withLock { $0 += 1 } }
        } onEnd: { result in
            ends.withLock { $0[result.index, default: 0] += 1 }
        }
        batch.onAllComplete { _ in completed.update { $0 += 1 } }
        try await fixture.store.waitUntil { $0.inFlight == 3 }
        #expect(batch.executing.count <= 5)
        hold.open()
        var results: [BatchResult<String, OSSStoredObject, StoreError>] = []
        for await result in batch.results {
            results.append(result)
            if results.count <= cancels.count { batch.cancel(at: cancels[results.count - 1]) }
        }
        let summary = await batch.summary
        #expect(ends.withLock { $0 } == Dictionary(uniqueKeysWithValues: (0..<60).map { ($0, 1) }))
        #expect(Set(results.map(\.index)) == Set(0..<60) && results.count == 60)
        #expect(summary.succeeded + summary.cancelled == 60 && summary.failed == 0, "\(summary.failures)")
        #expect(summary.cancelled <= 8 && lateProgress.withLock { $0 } == 0)
        #expect(try await fixture.store.settled().peakInFlight == 3)
        for result in results {
            switch result.result {
            case .success(let object):
                #expect(fixture.store.object("photos/\(result.index).jpg")?.content.crc64 == object.checksum)
            case .failure(let error): #expect(error.isCancelled && cancels.contains(result.index), "\(error)")
            }
        }
        try await completed.waitUntil { $0 == 1 }
    }

    @Test func `cancelling a batch ends every item once and starts no further request`() async throws {
        let session = UploadSession()
        let fixture = try OSSFixture(session: session)
        let hold = Gate()
        fixture.store.hold(at: hold)
        let ends = Locked<[Int: Int]>([:])
        let batch = fixture.client.startBatch(of: 0..<50) { number in
            OSSBatchWork(.data(Self.bytes(number)), to: "\(number)")
        } onEnd: { result in
            ends.withLock { $0[result.index, default: 0] += 1 }
        }
        try await fixture.store.waitUntil { $0.inFlight == 3 }
        // Two more wait for a slot, which they would get when the first one is cancelled.
        while session.uploads.count < 5 { await Task.yield() }
        batch.cancel()
        batch.cancel()
        let summary = await batch.summary
        #expect(summary.cancelled == 50 && summary.taken == 50 && !summary.isSuccess)
        #expect(ends.withLock { $0.count == 50 && $0.values.allSatisfy { $0 == 1 } })
        #expect(fixture.count(.putObject) == 3)
        hold.open()
    }

    @Test func `a failed item stops the others only with onFailure stop`() async throws {
        for policy in UploadBatchOptions.FailurePolicy.allCases {
            let fixture = try OSSFixture()
            var options = UploadBatchOptions()
            options.onFailure = policy
            let batch = fixture.client.startBatch(of: 0..<20, maximumConcurrentRequests: 1, options: options) {
                number in
                if number == 4 { throw Refused() }
                return OSSBatchWork(.data(Self.bytes(number)), to: "\(number)")
            }
            let summary = await batch.summary
            #expect(summary.failed == 1 && summary.failures.map(\.index) == [4])
            #expect(summary.failures.first?.error.cause is Refused)
            #expect(policy == .continue ? summary.succeeded == 19 : summary.cancelled >= 15)
            #expect(summary.succeeded + summary.cancelled == 19)
        }
    }

    @Test func `the parts of all files share the request limit of the batch`() async throws {
        let fixture = try OSSFixture { configuration, _ in configuration.maximumConcurrentParts = 3 }
        let size = 3 * 102_400
        let files = try (0..<4).map { try fixture.file(size, "\($0).mov", seed: UInt64($0)).path }
        let batch = fixture.client.startBatch(of: files, maximumConcurrentRequests: 2) { path in
            OSSBatchWork(.file(path: path), to: String(path.suffix(5)))
        }
        var last: UploadBatchProgress?
        for await progress in batch.progress {
            #expect(progress.acknowledged >= last?.acknowledged ?? 0)
            last = progress
        }
        #expect(last?.isFinished == true && last?.fraction == 1 && last?.succeeded == 4)
        let summary = await batch.summary
        #expect(summary.isSuccess && summary.acknowledged == Int64(4 * size))
        #expect((1...2).contains(fixture.store.state.peakInFlight) && fixture.count(.uploadPart) == 12)
        #expect(fixture.records.isEmpty, "no record is left")
    }

    @Test func `a paused batch sends nothing until it is resumed`() async throws {
        let fixture = try OSSFixture()
        let hold = Gate()
        fixture.store.hold(at: hold)
        let batch = fixture.client.startBatch(of: 0..<10, maximumConcurrentRequests: 1) { number in
            OSSBatchWork(.data(Self.bytes(number)), to: "\(number)")
        }
        try await fixture.store.waitUntil { $0.inFlight == 1 }
        batch.pause()
        #expect(batch.isPaused)
        hold.open()
        try await fixture.store.settled()
        #expect(fixture.count(.putObject) == 1)
        batch.resume()
        #expect(await batch.summary.succeeded == 10)
    }

    @Test func `cancelling an item or the batch cancels the closure that creates its upload`() async throws {
        for cancelsAll in [false, true] {
            let fixture = try OSSFixture()
            let asked = Watched(0)
            let batch = fixture.client.startBatch(of: 0..<10, maximumConcurrentRequests: 2) { number in
                asked.update { $0 += 1 }
                if number == 1 { try await Task.sleep(for: .seconds(3_600)) }
                return OSSBatchWork(.data(Self.bytes(number)), to: "\(number)")
            }
            try await asked.waitUntil { $0 == 2 }
            if cancelsAll { batch.cancel() } else { batch.cancel(at: 1) }
            let summary = await batch.summary
            #expect(summary.failed == 0 && summary.succeeded + summary.cancelled == 10, "\(summary)")
            if !cancelsAll { #expect(summary.cancelled == 1) }
        }
    }

    @Test func `a closed session ends a batch instead of failing every item`() async throws {
        let session = UploadSession()
        let fixture = try OSSFixture(session: session)
        await session.close()
        let batch = fixture.client.startBatch(of: 0..<1_000) { number in
            OSSBatchWork(.data(Self.bytes(number)), to: "\(number)")
        }
        let summary = await batch.summary
        #expect(summary.failed >= 1 && summary.failed < 100 && summary.failed + summary.cancelled == 1_000)
        #expect(summary.failures.first?.error.code.description == "sessionClosed")
    }

    @Test func `an empty batch succeeds, and cancelling a waiting task cancels the batch`() async throws {
        let fixture = try OSSFixture()
        let none = fixture.client.startBatch(of: [Int]()) { _ in OSSBatchWork(.data([]), to: "k") }
        #expect(await none.summary.isSuccess)
        let hold = Gate()
        fixture.store.hold(at: hold)
        let batch = fixture.client.startBatch(of: 0..<3) { OSSBatchWork(.data(Self.bytes($0)), to: "\($0)") }
        try await fixture.store.waitUntil { $0.inFlight == 3 }
        let waiter = Task { await batch.summary }
        waiter.cancel()
        #expect(await waiter.value.cancelled == 3)
        hold.open()
    }
}
