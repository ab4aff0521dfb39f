import Glibc
import TestSupport
import Testing
import Waybill

/// Ten thousand small uploads over real sockets, cancelled at random.
@Suite(.timeLimit(.minutes(3 * Slowness.factor))) struct SoakTests {
    /// The results of the uploads.
    private struct Tally: Sendable {
        var ends: [UInt8]
        var succeeded = 0
        var cancelled = 0
        var others: [String] = []
    }

    @Test func `ten thousand uploads with random cancellation end exactly once each`() async throws {
        guard IsolatedProcess.isIsolated else { return try await IsolatedProcess.run("SoakTests") }
        // Creates what exists once per process.
        try await soak(100, seed: 1)
        let before = await ProcessResources.settled { !$0.threads.contains("waybill-curl") }
        let count = unsafe getenv("WAYBILL_SOAK").flatMap { unsafe Int(String(cString: $0)) } ?? 10_000
        try await soak(count, seed: SeededGenerator().seed)
        let after = await ProcessResources.settled { census in
            census.descriptors.count <= before.descriptors.count && census.threads.count <= before.threads.count
                && !census.threads.contains("waybill-curl")
        }
        IsolatedProcess.expectNothingLeft(before: before, after: after)
    }

    private func soak(_ count: Int, seed: UInt64) async throws {
        let server = try LoopbackServer(keepsBodies: false)
        let session = UploadSession()
        let tally = Watched(Tally(ends: [UInt8](repeating: 0, count: count)))
        let url = server.url()
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<16 {
                group.addTask {
                    var random = SeededGenerator(seed: seed &+ UInt64(worker))
                    for index in stride(from: worker, to: count, by: 16) {
                        await Self.upload(index, to: url, session, &random, tally)
                    }
                }
            }
        }
        // A completion may be called after the task that awaits the response has continued.
        try await tally.waitUntil { $0.ends.allSatisfy { $0 > 0 } }
        await session.close()
        server.stop()
        let result = tally.value
        #expect(result.ends.allSatisfy { $0 == 1 }, "seed \(seed)")
        #expect(result.others.isEmpty, "seed \(seed): \(result.others.prefix(5))")
        #expect(result.succeeded + result.cancelled == count)
        #expect(
            result.succeeded > count / 4 && result.cancelled > count / 10, "\(result.succeeded), \(result.cancelled)")
        // Every success arrived, and the server received no more requests than were sent.
        let complete = server.requests.count { $0.isComplete }
        #expect(complete >= result.succeeded && server.requests.count <= count, "seed \(seed)")
        #expect(server.state.violations.isEmpty)
    }

    private static func upload(
        _ index: Int, to url: String, _ session: UploadSession, _ random: inout SeededGenerator, _ tally: Watched<Tally>
    ) async {
        let size = Int.random(in: 0...2_000, using: &random)
        var options = session.options
        // libcurl exchanges the messages of every fourth upload.
        if index % 4 == 0 { options.transfer.curlOptions = [CurlOption("TCP_NODELAY", .number(1))] }
        let task = session.start(
            .data([UInt8](repeating: 1, count: size), contentType: nil), to: url, options: options)
        task.onCompletion { result in
            tally.update { tally in
                tally.ends[index] += 1
                switch result {
                case .success: tally.succeeded += 1
                case .failure(let error) where error.isCancelled: tally.cancelled += 1
                case .failure(let error): tally.others.append("\(error)")
                }
            }
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0: task.cancel()
        case 1:
            for _ in 0..<Int.random(in: 0..<200, using: &random) { await Task.yield() }
            task.cancel()
        case 2:
            for await progress in task.progress where progress.phase == .connecting || progress.phase == .sending {
                task.cancel()
            }
        case 3:
            // Like a program whose user leaves: the waiting task is cancelled.
            let waiter = Task { try await task.response }
            waiter.cancel()
            _ = await waiter.result
        default: break
        }
        _ = try? await task.response
    }
}
