import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

/// Exercises every control of a session from many threads concurrently.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct ControlStressTests {
    private static let groups = ["a", "b", "c"]

    private func options(_ random: inout SeededGenerator) -> UploadOptions {
        // With a key, so that an upload that a pause closes at its last byte can be sent again.
        var options = UploadOptions(retry: .none, idempotency: .honoured(window: .seconds(1 << 40)))
        options.group = (Self.groups + [nil]).randomElement(using: &random)!
        options.priority = UploadPriority.allCases.randomElement(using: &random)!
        options.tags = ["tag \(Int.random(in: 0..<5, using: &random))"]
        if Int.random(in: 0..<3, using: &random) == 0 {
            options.deduplicationKey = "key \(Int.random(in: 0..<20, using: &random))"
        }
        return options
    }

    private func control(_ world: SessionWorld, _ task: UploadTask, _ random: inout SeededGenerator) {
        let session = world.session
        let group = session.group(Self.groups.randomElement(using: &random)!)
        let rate = Bool.random(using: &random) ? ByteCount.bytes(.random(in: 0...1_000, using: &random)) : nil
        switch Int.random(in: 0..<24, using: &random) {
        case 0: group.pause()
        case 1, 2: group.resume()
        case 3: session.pauseAll()
        case 4: session.resumeAll()
        case 5: group.maximumConcurrentTransfers = [nil, 1, 2, 9].randomElement(using: &random)!
        case 6: group.limit(to: rate)
        case 7: session.limit(to: rate)
        case 8: task.limit(to: rate)
        case 9: world.clock.advance(by: .seconds(20))
        case 10: task.cancel()
        case 11: session.uploads(taggedWith: "tag 1").randomElement(using: &random)?.cancel()
        case 12: task.priority = UploadPriority.allCases.randomElement(using: &random)!
        case 13: _ = session.upload(id: task.id)?.state
        case 14...18: task.pause()
        default: task.resume()
        }
    }

    @Test func `random concurrent controls end every handle and leave nothing behind`() async throws {
        let world = SessionWorld([.responding(.ok)], slots: 4, slotsPerHost: 3)
        var seeds = SeededGenerator()
        let seed = seeds.next()
        let tasks = await withTaskGroup(of: [UploadTask].self) { workers in
            for worker in 0..<6 {
                workers.addTask {
                    var random = SeededGenerator(seed: seed &+ UInt64(worker))
                    var tasks: [UploadTask] = []
                    for _ in 0..<200 {
                        let content = UploadContent.data([UInt8](repeating: 7, count: 40_000))
                        let host = "http://host\(Int.random(in: 0..<3, using: &random)).example/"
                        tasks.append(
                            world.session.start(content, to: host, method: .post, options: options(&random)))
                        for _ in 0..<4 { control(world, tasks.randomElement(using: &random)!, &random) }
                    }
                    return tasks
                }
            }
            return await workers.reduce(into: []) { $0 += $1 }
        }
        await world.session.close(.drain)
        var ends = (succeeded: 0, cancelled: 0)
        for task in tasks {
            switch await task.end() {
            case .success(let response):
                ends.succeeded += 1
                #expect(response.attempts.dropLast().allSatisfy { $0.disposition == .restart })
            case .failure(let error):
                ends.cancelled += 1
                #expect(error.code == .cancelled, "\(error)")
            }
            #expect(!task.isPaused)
        }
        #expect(ends.succeeded > 0 && ends.cancelled > 0)
        #expect(world.session.uploads.isEmpty)
        #expect(world.transport.running == 0)
        #expect(world.transport.maxConcurrent <= 4)
        // Each successful transfer was complete once, even when several handles shared it.
        let whole = world.transport.transfers.filter { $0.end.map { (try? $0.result.get()) != nil } ?? false }
        #expect(Set(whole.map(\.request.id)).count == whole.count)
        #expect(whole.allSatisfy { $0.body.count == 40_000 })
    }
}
