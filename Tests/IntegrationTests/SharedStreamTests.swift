import Foundation
import TestSupport
import Testing
import Waybill

/// Streams that several uploads read, and streams of cancelled uploads.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct SharedStreamTests {
    @Test func `concurrent uploads of one stream never send part of it as the whole`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200))
        for _ in 0..<30 {
            let bytes = StreamUploadTests.bytes
            let part = MultipartPart.stream(
                "s", StreamUploadTests.stream(Watched(0)), length: Int64(bytes.count), fileName: "s.bin",
                replay: .fromCopy)
            let body = try await ([.text("a", "1"), part, .text("b", "2")] as MultipartForm).prepared()
            let session = UploadSession()
            let tasks = (0..<3).map { _ in session.start(.body(body), to: server.url()) }
            for task in tasks {
                do { _ = try await task.response } catch {
                    #expect(error.code != .stalled && error.code != .responseTimeout, "\(error)")
                }
            }
        }
        for request in server.requests where request.isComplete { try StreamUploadTests().expectComplete(request) }
    }

    @Test func `an upload cancelled while spilling leaves no open descriptor`() async throws {
        let folder = try TemporaryDirectory()
        func count() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { entry in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(entry)")
                return target?.hasPrefix("\(folder.path)/") == true
            }
        }
        let server = try LoopbackServer(otherwise: .respond(200))
        for round in 0..<50 {
            let pulled = Watched(0)
            var form: MultipartForm = [.stream("s", StreamUploadTests.stream(pulled, upTo: 40), length: nil)]
            form.unknownLength = .spill(threshold: .bytes(1))
            form.temporaryDirectory = folder.path
            let task = UploadSession().start(form, to: server.url())
            _ = try await pulled.waitUntil { $0 > round % 30 }
            task.cancel()
            _ = try? await task.response
        }
        for _ in 0..<3_000 where try count() > 0 { try await Task.sleep(for: .milliseconds(10)) }
        #expect(try count() == 0)
    }
}
