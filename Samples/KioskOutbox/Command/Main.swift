import Foundation
import Glibc
import KioskKit
import Logging
import ServiceLifecycle
import Waybill
import WaybillOutbox

/// Delivers forms with an outbox in spite of crashes. `KioskOutbox` is the kiosk and the backend, and starts itself as
/// the worker.
@main
struct Command {
    static func main() async {
        var demo = Demo()
        var worker: String?
        var arguments = CommandLine.arguments.dropFirst()
        while let option = arguments.popFirst() {
            switch (option, arguments.popFirst()) {
            case ("--cards", let directory?): demo.cards = directory
            case ("--width", let text?) where Int(text).map { $0 >= 64 } ?? false: demo.width = Int(text)!
            case ("--outbox", let path?): demo.outbox = path
            case ("--work", let path?): worker = path
            default:
                print("usage: KioskOutbox [--outbox DIR] [--cards DIR] [--width PIXELS]")
                exit(64)
            }
        }
        do {
            if let worker { try await deliver(from: worker) } else { try await demo.run() }
        } catch {
            print("\nKioskOutbox failed: \(error)")
            exit(1)
        }
    }

    /// Delivers as the worker process until SIGTERM.
    private static func deliver(from path: String) async throws {
        WorkerProcess.endWithParent()
        let token = ProcessInfo.processInfo.environment["KIOSK_TOKEN"] ?? ""
        let worker = DeliveryWorker(token: .secret(token), rateLimit: .kibibytes(100)) { result in
            printLine("      worker: #\(result.item.id), attempt \(result.item.attempts): \(result.summary)")
        }
        let outbox = try await worker.open(path)
        let session = worker.makeSession()
        var logger = Logger(label: "worker")
        logger.logLevel = .error
        let group = ServiceGroup(
            services: [OutboxService(outbox, session: session)], gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger)
        try await group.run()
        await session.close(.cancel)
    }
}

/// Prints a line and flushes: a process that is killed loses its buffer.
func printLine(_ line: String) {
    print(line)
    fflush(nil)
}
