import Dispatch
import Foundation
import TestSupport
import Testing
import Waybill
import WaybillFoundation
import WaybillTesting

@Suite(.timeLimit(.minutes(Slowness.factor))) struct QueueTests {
    private let queue = DispatchQueue(label: "callbacks")
    private let key = DispatchSpecificKey<Bool>()

    init() {
        queue.setSpecific(key: key, value: true)
    }

    private func start(_ script: TransferScript, bytes: Int = 100) -> UploadTask {
        UploadSession(transport: ScriptedTransport([script])).start(
            UploadRequest(
                .post, "http://backend.example/", content: .data([UInt8](repeating: 7, count: bytes)),
                options: UploadOptions(retry: .none)))
    }

    /// Polls the condition on the queue.
    private func wait(until isMet: () -> Bool) async throws {
        while !queue.sync(execute: isMet) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test func `callbacks run on the queue, the completion last and once`() async throws {
        let events = Watched<[String]>([])
        let key = key
        start(.responding(.ok, body: "thanks"))
            .onProgress(on: queue) { progress in
                events.update { $0.append("\(progress.phase) \(DispatchQueue.getSpecific(key: key) == true)") }
            }
            .onSuccess(on: queue) { response in
                events.update { $0.append("\(response.text) \(DispatchQueue.getSpecific(key: key) == true)") }
            }
            .onFailure(on: queue) { _ in events.update { $0.append("failure") } }
            .onCompletion(on: queue) { _ in events.update { $0.append("end") } }
        let lines = try await events.waitUntil { $0.contains("end") && $0.contains("thanks true") }
        #expect(lines.contains("succeeded true"))
        #expect(lines.allSatisfy { !$0.hasSuffix("false") && $0 != "failure" })
        #expect(lines.firstIndex(of: "succeeded true") ?? 9 < lines.firstIndex(of: "thanks true") ?? 0)
        #expect(lines.count { $0 == "end" } == 1)
    }

    @Test func `a failure calls only the failure callback`() async throws {
        let events = Watched<[String]>([])
        start(.responding(.forbidden))
            .onSuccess(on: queue) { _ in events.update { $0.append("success") } }
            .onFailure(on: queue) { error in events.update { $0.append("\(error.code)") } }
        #expect(try await events.waitUntil { !$0.isEmpty } == ["rejected"])
    }

    @Test func `progress is coalesced while the queue is busy`() async throws {
        let canContinue = DispatchSemaphore(value: 0)
        queue.async { canContinue.wait() }
        let calls = Watched(0)
        let steps: [TransferScript.Step] = (0..<50).map { _ in .receive(1) }
        let task = start(TransferScript([.connect, .acknowledgeHead] + steps + [.receiveRest, .respond(.ok)]))
        let last = Watched<UploadPhase?>(nil)
        task.onProgress(on: queue) { progress in
            calls.update { $0 += 1 }
            last.update { $0 = progress.phase }
        }
        _ = try await task.response
        canContinue.signal()
        _ = try await last.waitUntil { $0 == .succeeded }
        #expect(calls.value <= 2)
    }

    @Test func `a Foundation progress follows the upload`() async throws {
        let (isWatched, gate) = (ScriptGate(), ScriptGate())
        let task = start([
            .connect, .acknowledgeHead, .wait(isWatched), .receive(40), .wait(gate), .receiveRest, .respond(.ok),
        ])
        let shown = task.foundationProgress(on: queue)
        // Bytes received before the progress was created are reported with the next ones.
        isWatched.open()
        await gate.arrivals(atLeast: 1)
        try await wait { shown.completedUnitCount >= 40 }
        queue.sync {
            #expect(shown.totalUnitCount == 100 && shown.fractionCompleted == 0.4)
            #expect(!shown.isFinished && shown.isCancellable && !shown.isPausable)
        }
        gate.open()
        try await wait { shown.isFinished }
        #expect(queue.sync { shown.completedUnitCount } == 100)
    }

    @Test func `an empty body finishes its Foundation progress`() async throws {
        let task = start(.responding(.ok), bytes: 0)
        let shown = task.foundationProgress(on: queue)
        try await wait { shown.isFinished }
    }

    @Test func `cancelling a Foundation progress cancels the upload`() async throws {
        let gate = ScriptGate()
        let task = start([.connect, .receive(1), .wait(gate), .hang])
        let progress = task.foundationProgress(on: queue)
        await gate.arrivals(atLeast: 1)
        progress.cancel()
        await #expect(throws: UploadError.self) { try await task.response }
    }
}
