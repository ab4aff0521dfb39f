import TestSupport
import Testing
import Waybill

/// Progress means what the peer has, not what the kernel took.
@Suite(.timeLimit(.minutes(1))) struct ProgressTruthTests {
    /// A receiver with `SO_RCVBUF` of 64 KiB that reads 500 KiB a second: the bar may lead what its program has read by
    /// that buffer and no more than 128 KiB, at every sample, and it is at 100 % only when the receiver nearly is.
    @Test func `acknowledged leads a slow receiver by at most 128 KiB`() async throws {
        let server = try LoopbackServer(
            Behaviour.respond(200).reading(bytesPerSecond: 500 << 10), receiveBuffer: .kibibytes(64), keepsBodies: false
        )
        let folder = try TemporaryDirectory()
        let size = 1_500_000
        let path = try folder.writeSparse("body.bin", size: size)
        let task = UploadSession().start(.file(path: path, contentType: nil), to: server.url())

        var samples = 0
        var largestLead: Int64 = 0
        var largestSentLead: Int64 = 0
        var last: UploadProgress?
        for await progress in task.progress where progress.phase == .sending || progress.phase == .awaitingResponse {
            // The server's count is read after the snapshot was made, so a late look makes the lead smaller by what
            // was read meanwhile. At 500 KiB/s and twenty looks a second that is about 25 KiB.
            let read = Int64(server.bodyBytesRead())
            largestLead = max(largestLead, progress.acknowledged - read)
            largestSentLead = max(largestSentLead, progress.sent - read)
            if let last {
                #expect(progress.acknowledged >= last.acknowledged)
                #expect(progress.sent >= last.sent)
            }
            #expect(progress.acknowledged <= progress.sent)
            #expect(progress.accuracy == .exact)
            last = progress
            samples += 1
        }
        #expect(try await task.response.status == .ok)
        #expect(largestLead <= 128 << 10, "acknowledged led the receiver by \(largestLead) bytes")
        #expect(last?.acknowledged == Int64(size))
        // The figure has to be told from the one that is easy to have: bytes given to the kernel ran far ahead.
        #expect(largestSentLead > 256 << 10, "sent led by \(largestSentLead) bytes only; the test saw nothing")
        #expect(samples >= 5)
    }

    @Test func `each part has its own share of the bar`() async throws {
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

    @Test func `the whole body sent is not yet success`() async throws {
        let gate = Gate()
        let server = try LoopbackServer(Behaviour.respond(500).held(at: gate))
        var options = UploadOptions()
        options.retry = .none
        let task = UploadSession().start([.text("a", "b")], to: server.url(), options: options)
        for await progress in task.progress {
            if progress.phase == .awaitingResponse { gate.open() }
            #expect(progress.phase != .succeeded)
        }
        let error = await #expect(throws: UploadError.self) { try await task.response }
        #expect(error?.code == .rejected)
        #expect(error?.outcome == .rejected)
        #expect(error?.response?.status.code == 500)
    }
}
