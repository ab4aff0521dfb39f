import Foundation
import TestSupport
import Testing
import Waybill
import WaybillFoundation
import WaybillTesting

@Suite(.timeLimit(.minutes(Slowness.factor))) struct UploadOperationTests {
    private let url = "http://backend.example/"

    private func operation(_ transport: ScriptedTransport, _ path: String = "") -> UploadOperation {
        UploadOperation(
            UploadRequest(.post, url + path, content: .data([1, 2, 3])), in: UploadSession(transport: transport))
    }

    private func finish(_ operations: [UploadOperation], in queue: OperationQueue = OperationQueue()) async {
        await withCheckedContinuation { continuation in
            let last = BlockOperation { continuation.resume() }
            for operation in operations { last.addDependency(operation) }
            queue.addOperations(operations + [last], waitUntilFinished: false)
        }
    }

    @Test func `an operation finishes with its upload`() async throws {
        let upload = operation(ScriptedTransport([.responding(.ok, body: "thanks")]))
        #expect(upload.isAsynchronous && !upload.isExecuting && !upload.isFinished && upload.result == nil)
        await finish([upload])
        #expect(upload.isFinished && !upload.isExecuting)
        #expect(try upload.result?.get().text == "thanks")
        #expect(upload.task != nil)
    }

    @Test func `a queue runs operations in the order of their dependencies`() async throws {
        let transport = ScriptedTransport([.responding(.ok)])
        let uploads = (0..<6).map { operation(transport, "\($0)") }
        for (later, earlier) in zip(uploads.dropFirst(), uploads) { later.addDependency(earlier) }
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 4
        await finish(uploads, in: queue)
        #expect(transport.transfers.map(\.request.url) == (0..<6).map { url + "\($0)" })
        #expect(transport.maxConcurrent == 1)
    }

    @Test func `a failed upload finishes its operation with the error`() async throws {
        let upload = operation(ScriptedTransport([.responding(.forbidden)]))
        await finish([upload])
        guard case .failure(let error)? = upload.result else { throw error }
        #expect(error.code == .rejected && upload.isFinished && !upload.isCancelled)
    }

    private var error: UploadError { UploadError(.other, "it should have failed", phase: .succeeded) }

    @Test func `cancelling a running operation cancels the upload`() async throws {
        let gate = ScriptGate()
        let upload = operation(ScriptedTransport([[.connect, .receive(1), .wait(gate), .hang]]))
        async let end: Void = finish([upload])
        await gate.arrivals(atLeast: 1)
        #expect(upload.isExecuting)
        upload.cancel()
        await end
        guard case .failure(let error)? = upload.result else { throw self.error }
        #expect(error.isCancelled && upload.isCancelled && upload.isFinished)
    }

    @Test func `an operation cancelled before its start starts no upload`() async throws {
        let transport = ScriptedTransport([.responding(.ok)])
        let upload = operation(transport)
        upload.cancel()
        await finish([upload])
        guard case .failure(let error)? = upload.result else { throw self.error }
        #expect(error.isCancelled && upload.task == nil && transport.transfers.isEmpty)
    }
}
