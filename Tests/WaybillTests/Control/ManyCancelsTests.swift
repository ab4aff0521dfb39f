import FoundationEssentials
import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

/// Cancels thousands of uploads. The time limit allows for debug builds on busy machines; the thread sanitizer, whose
/// options only `make` sets, gets fewer uploads.
@Suite(.timeLimit(.minutes(5 * Slowness.factor))) struct ManyCancelsTests {
    private static let isSanitized = ProcessInfo.processInfo.environment["TSAN_OPTIONS"] != nil

    private let gate = ScriptGate()

    private func world() -> SessionWorld {
        SessionWorld([[.wait(gate), .connect, .receiveRest, .respond(.ok)]], slots: 2, slotsPerHost: 2)
    }

    @Test func `cancelAll of 100,000 uploads starts none of the queued ones`() async throws {
        let world = world()
        let content = UploadContent.data([1])
        var tasks: [UploadTask] = []
        for _ in 0..<(Self.isSanitized ? 5_000 : 100_000) {
            tasks.append(world.session.start(content, to: SessionWorld.url))
        }
        await gate.arrivals(atLeast: 2)
        world.session.cancelAll()
        #expect(tasks[2...].allSatisfy { $0.state == .cancelled })
        for task in tasks { #expect(await task.error()?.code == .cancelled) }
        #expect(world.transport.transfers.count == 2)
        #expect(world.session.uploads.isEmpty)
        gate.open()
        #expect(try await world.start().response.status == .ok)
    }

    @Test func `10,000 queued uploads can be cancelled in order`() async throws {
        let world = world()
        let content = UploadContent.data([1])
        let tasks = (0..<(Self.isSanitized ? 1_000 : 10_000)).map { _ in
            world.session.start(content, to: SessionWorld.url)
        }
        await gate.arrivals(atLeast: 2)
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await task.error()?.code == .cancelled) }
        #expect(world.session.uploads.isEmpty)
    }
}
