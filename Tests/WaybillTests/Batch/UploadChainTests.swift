import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import Waybill

@Suite(.timeLimit(.minutes(Slowness.factor))) struct UploadChainTests {
    private struct Receipt: Codable { var id: Int }
    private struct Odd: Error {}

    private func request(_ path: String) -> UploadRequest {
        UploadRequest(.post, "http://backend.example/\(path)", content: .data([1, 2, 3]))
    }

    @Test func `each step is built from the responses of earlier steps`() async throws {
        let world = SessionWorld([
            .responding(.ok, body: #"{"id": 7}"#), .responding(.ok, body: #"{"id": 8}"#), .responding(.created),
        ])
        var chain = UploadChain("front", request("front"))
        chain.then("back") { _ in request("back") }
        chain.then("submit") { done in
            let ids = try done.responses.map { try $0.decode(Receipt.self).id }
            #expect(try done["front"]?.decode(Receipt.self).id == 7)
            return request("submit/\(ids[0])-\(ids[1])")
        }
        #expect(chain.names == ["front", "back", "submit"])
        let names = Watched<[String]>([])
        let result = await world.session.run(chain) { name, _ in names.update { $0.append(name) } }
        #expect(try result.get().map(\.status) == [.ok, .ok, .created])
        #expect(result.failure == nil && !result.endedEarly)
        #expect(names.value == ["front", "back", "submit"])
        #expect(world.transport.transfers.last?.request.url == "http://backend.example/submit/7-8")
    }

    @Test func `a step that returns nil ends the chain successfully`() async throws {
        let world = SessionWorld([.responding(.ok)])
        var chain = UploadChain("first", request("1"))
        chain.then("second") { _ in nil }
        chain.then("third") { _ in request("3") }
        let result = await world.session.run(chain)
        #expect(result.endedEarly && result.failure == nil)
        #expect(try result.get().count == 1)
        #expect(result.steps.map { $0.result == nil } == [false, true, true])
        #expect(world.transport.transfers.count == 1)
    }

    @Test func `a chain can end before its first step`() async throws {
        let world = SessionWorld([.responding(.ok)])
        let result = await world.session.run(UploadChain("first") { _ in nil })
        #expect(try result.get().isEmpty && result.endedEarly && world.transport.transfers.isEmpty)
    }

    @Test func `a failing step ends the chain, and the error names it`() async throws {
        let world = SessionWorld([.responding(.ok), .responding(.forbidden)])
        var chain = UploadChain("first", request("1"))
        chain.then("second") { _ in request("2") }
        chain.then("third") { _ in request("3") }
        let result = await world.session.run(chain)
        let error = try #require(throws: UploadError.self) { try result.get() }
        #expect(error.code == .rejected && error.message.hasPrefix("Step \"second\" failed. "))
        #expect(result.failure?.step == "second")
        #expect(result.responses.count == 1 && result.steps[2].result == nil)
        #expect(world.transport.transfers.count == 2)
    }

    @Test func `an error thrown by a step is the error of the chain`() async throws {
        let world = SessionWorld([.responding(.ok, body: "no JSON")])
        var chain = UploadChain("first", request("1"))
        chain.then("second") { done in
            _ = try done.responses[0].decode(Receipt.self)
            return nil
        }
        let decoding = try #require(await world.session.run(chain).failure)
        #expect(decoding.step == "second" && decoding.error.code == .decodingFailed)
        #expect(decoding.error.response?.text == "no JSON")
        let odd = try #require(await world.session.run(UploadChain("odd") { _ in throw Odd() }).failure)
        #expect(odd.error.code == .preparationFailed && odd.error.cause is Odd)
    }

    @Test func `cancelling the task cancels the running step and starts no further ones`() async throws {
        let gate = ScriptGate()
        let world = SessionWorld([[.connect, .wait(gate), .hang]])
        var chain = UploadChain("first", request("1"))
        chain.then("second") { _ in request("2") }
        let task = Task { await world.session.run(chain) }
        await gate.arrivals(atLeast: 1)
        task.cancel()
        let result = await task.value
        #expect(result.failure?.error.isCancelled == true && result.failure?.step == "first")
        #expect(result.steps[1].result == nil)
        #expect(world.transport.transfers.count == 1)
    }
}
