import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillMultipart
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct ConcurrencyTests {
    @Test func `a thousand uploads all end, within the limits of concurrency`() async throws {
        let world = SessionWorld([.responding(.ok)], slots: 8, slotsPerHost: 5)
        let hosts = (0..<4).map { "http://host\($0).example/" }
        let tasks = (0..<1_000).map { world.start(64, to: hosts[$0 % hosts.count]) }
        for task in tasks { #expect(try await task.response.status == .ok) }
        #expect(world.transport.transfers.count == 1_000)
        #expect(Set(world.transport.transfers.map(\.request.id)).count == 1_000)
        #expect(world.transport.maxConcurrent <= 8)
        for host in hosts { #expect(world.transport.maxConcurrent(to: host) <= 5) }
    }

    @Test func `all slots are used, within the limit per host`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.wait(gate), .connect, .receiveRest, .respond(.ok)]], slots: 8, slotsPerHost: 5)
        let busy = (0..<30).map { _ in world.start(10, to: "http://busy.example/") }
        await gate.arrivals(atLeast: 5)
        #expect(world.transport.running == 5)
        let others = (0..<10).map { world.start(10, to: "http://other\($0).example/") }
        await gate.arrivals(atLeast: 8)
        #expect(world.transport.running == 8)
        gate.open()
        for task in busy + others { _ = try await task.response }
        #expect(world.transport.maxConcurrent <= 8)
        #expect(world.transport.maxConcurrent(to: "http://busy.example/") == 5)
    }

    @Test func `the number of uploads prepared ahead is limited to slots plus two`() async throws {
        let world = SessionWorld([.responding(.ok)], slots: 2, slotsPerHost: 2)
        let parts = (0..<20).map { _ in GatedPart() }
        let tasks = parts.map { world.session.start([.preparing("FILE", with: $0)], to: SessionWorld.url) }
        for part in parts[..<4] { try await part.arrived.waitUntil { $0 == 1 } }
        await tasks[3].reaches(.preparing)
        #expect(parts[4...].allSatisfy { $0.arrived.value == 0 })
        for part in parts { part.canContinue.update { $0 = true } }
        for task in tasks { #expect(try await task.response.status == .ok) }
        #expect(parts.allSatisfy { $0.arrived.value == 1 })
    }

    @Test func `uploads that wait for a retry occupy no slot`() async throws {
        let transport = ScriptedTransport { request, _ in
            request.url.contains("down") ? .failing(.cannotConnect) : .responding(.ok)
        }
        let world = SessionWorld(
            transport, slots: 1, slotsPerHost: 1, retry: RetryPolicy(maxRetries: 1), budget: nil)
        let down = (0..<20).map { _ in world.start(10, to: "http://down.example/") }
        await world.clock.sleepers(atLeast: 20)
        #expect(try await world.start(10, to: "http://up.example/").response.status == .ok)
        world.clock.advance(by: .seconds(60))
        for task in down { #expect(await task.error()?.attempts.count == 2) }
    }

    @Test func `a transport that ends synchronously does not recurse`() async throws {
        let session = UploadSession(transport: InstantTransport())
        let tasks = (0..<5_000).map { _ in session.start(.data([1]), to: SessionWorld.url) }
        for task in tasks { #expect(try await task.response.status == .ok) }
    }

    @Test func `many threads can start and cancel uploads`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let ends = await withTaskGroup(of: Int.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var ends = 0
                    for number in 0..<50 {
                        let task = world.start(10, to: "http://host\(worker % 3).example/")
                        if number % 3 == 0 { task.cancel() }
                        _ = await task.end()
                        ends += 1
                    }
                    return ends
                }
            }
            return await group.reduce(0, +)
        }
        #expect(ends == 400)
        #expect(world.transport.running == 0)
    }
}

/// Ends every attempt inside `start`, as a transport may do when it refuses a request.
private struct InstantTransport: UploadTransport {
    private struct Control: TransferControl {
        func cancel() {}
        func pause() {}
        func resume() {}
        func limit(to rate: ByteCount?) {}
    }

    func start(_ request: TransferRequest, sink: any TransferSink) -> any TransferControl {
        let response = TransferResponse(head: HTTPResponse(status: .ok))
        sink.transfer(.ended(TransferEnd(result: .success(response), evidence: TransferCounters())))
        return Control()
    }
}
