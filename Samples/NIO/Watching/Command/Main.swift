import MetricsTestKit
import ReceiverKit
import Waybill
import WatchingKit

/// `Watching` sends a mebibyte to a backend on this machine and prints what was measured of it.
@main
struct Command {
    static func main() async throws {
        let receiver = try await Receiver.start(.init(token: "specimen-token"))
        // A program has `MetricsSystem.bootstrap` and `InstrumentationSystem.bootstrap` in its first lines instead.
        let metrics = TestMetrics()
        let tracer = TraceContextTracer()

        let session = UploadSession()
        let watching = UploadMetrics(factory: metrics).watch(session)
        let form: MultipartForm = [
            .text("TOKEN", .secret("specimen-token")),
            .data("FILE", [UInt8](repeating: 7, count: 1 << 20), fileName: "specimen.bin"),
        ]
        do {
            let request = UploadRequest(.post, receiver.url, content: .form(form))
            print(try await session.send(request, tracedBy: tracer))
        } catch {
            print("It did not work: \(error)")
        }
        await session.close()
        await watching.value
        print(Report(metrics, tracer.memory.finishedSpans))
        await receiver.stop()
    }
}
