import Waybill
import WaybillOutbox

/// A program that tests kill: it delivers from an outbox, or hands uploads over and tells of each.
///
///     OutboxTestWorker run PATH              delivers until it is killed
///     OutboxTestWorker idle PATH             delivers until nothing is left
///     OutboxTestWorker add PATH URL COUNT    hands uploads over, one line each when it is done
///     OutboxTestWorker weak PATH URL COUNT   the same, and promises nothing about power
///     OutboxTestWorker list PATH             tells of all there are, one line each, and whether the file is whole
@main
struct OutboxTestWorker {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else {
            throw OutboxError(.notFound, "usage: run|idle|add|weak|list PATH [URL COUNT]")
        }
        var configuration = Outbox.Configuration()
        configuration.retry = OutboxRetry(maxAttempts: 1_000, baseDelay: .milliseconds(1), maxDelay: .milliseconds(20))
        configuration.retryBudget = nil
        configuration.slotsPerLane = 8
        if arguments[1] == "weak" { configuration.synchronous = .normal }
        let outbox = try await Outbox(at: arguments[2], configuration: configuration)
        switch arguments[1] {
        case "run": try await outbox.run()
        case "idle": try await outbox.runUntilIdle()
        case "list":
            for try await item in outbox.items() { FileOutput.write("\(item.id)\n") }
            FileOutput.write("\(try await outbox.checkIntegrity())\n")
        default:
            for number in 0..<(Int(arguments[4]) ?? 0) {
                let receipt = try await outbox.enqueue([.text("ITEM", "item-\(number)-")], to: arguments[3])
                // Each line at once: what was told of must be there.
                FileOutput.write("\(receipt.id)\n")
            }
        }
        await outbox.close()
    }
}
