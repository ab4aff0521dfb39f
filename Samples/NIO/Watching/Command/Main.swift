import MetricsTestKit
import ReceiverKit
import Waybill
import WatchingKit

/// `Watching` sends a mebibyte to a local backend and prints the metrics and spans.
@main
struct Command {
    static func main() async throws {
        let receiver = try await Receiver.start(.init(token: "specimen-token"))
        // A program calls `MetricsSystem.bootstrap` and `InstrumentationSystem.bootstrap` at its start instead.
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
            print("The upload failed: \(error)")
        }
        await session.close()
        await watching.value
        print(Report(metrics, tracer.memory.finishedSpans))
        await receiver.stop()
    }
}
