import TestSupport
import Testing
import Waybill

/// The progress as presented to observers. `TransferProgressTests` proves that the counts are true.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ProgressTruthTests {
    @Test func `each part has its own share of the progress`() async throws {
        let server = try LoopbackServer(
            Behaviour.respond(200).reading(bytesPerSecond: 1 << 20), receiveBuffer: .kibibytes(64))
        let form: MultipartForm = [
            .text("TOKEN", .secret("t")), .data("front", [UInt8](repeating: 1, count: 200_000), fileName: "front.jpg"),
            .data("back", [UInt8](repeating: 2, count: 100_000), fileName: "back.jpg"),
        ]
        let task = UploadSession().start(form, to: server.url())
        var last: UploadProgress?
        for await progress in task.progress where !progress.parts.isEmpty {
            #expect(progress.parts.map(\.name) == ["TOKEN", "front", "back"])
            // Parts are sent in order: none begins before the one before it is complete.
            for (earlier, later) in zip(progress.parts, progress.parts.dropFirst()) where later.acknowledged > 0 {
                #expect(earlier.acknowledged == earlier.total)
            }
            last = progress
        }
        #expect(try await task.response.status == .ok)
        #expect(last?.parts.map(\.total) == [1, 200_000, 100_000])
        #expect(last?.parts.allSatisfy { $0.acknowledged == $0.total } == true)
        #expect(last?.phase == .succeeded)
        #expect(last?.fraction == 1)
    }

    @Test func `a body sent completely is not a success yet`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(Behaviour.respond(500).delayed(until: gate))
        var options = UploadOptions()
        options.retry = .none
        let task = UploadSession().start([.text("a", "b")], to: server.url(), options: options)
        for await progress in task.progress {
            if progress.phase == .awaitingResponse { gate.open() }
            #expect(progress.phase != .succeeded)
        }
        let error = await #expect(throws: UploadError.self) { try await task.response }
        #expect(error?.code == .rejected)
        #expect(error?.outcome == .unknown)
        #expect(error?.response?.status.code == 500)
    }
}
