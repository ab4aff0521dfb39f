import COutboxFaults
import Glibc
import Waybill
import WaybillOutbox

/// A program that tests kill, and whose disk they let fail: it delivers from an outbox, or hands uploads over and tells of
/// each.
///
///     OutboxTestWorker run PATH              delivers until it is killed
///     OutboxTestWorker idle PATH             delivers until nothing is left
///     OutboxTestWorker add PATH URL COUNT    hands uploads over, one line each when it is done
///     OutboxTestWorker weak PATH URL COUNT   the same, and promises nothing about power
///     OutboxTestWorker stage PATH URL COUNT  the same with bytes that are staged; what fails is told and tried again
///     OutboxTestWorker full PATH URL FILE    fills the disk, tries to go on, removes FILE, and goes on
///     OutboxTestWorker rates PATH COUNT      measures the queue file that it makes there
///     OutboxTestWorker list PATH             tells of all there are, one line each, and whether the file is whole
///
/// What fails is told as `! code`. What fails for good ends it with 3. Its calls can be made to fail: `COutboxFaults.h`.
@main
struct OutboxTestWorker {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else {
            throw OutboxError(.notFound, "usage: run|idle|add|weak|stage|full|rates|list PATH [URL COUNT|FILE]")
        }
        do throws(OutboxError) {
            try await work(arguments[1], arguments[2], arguments.dropFirst(3))
        } catch {
            FileOutput.write("! \(error.code)\n")
            exit(3)
        }
    }

    private static func work(_ task: String, _ path: String, _ rest: ArraySlice<String>) async throws(OutboxError) {
        if task == "rates" { return try await StoreRates(path: path, count: Int(rest.last ?? "") ?? 100_000).run() }
        var configuration = Outbox.Configuration()
        configuration.retry = OutboxRetry(maxAttempts: 1_000, baseDelay: .milliseconds(1), maxDelay: .milliseconds(20))
        configuration.retryBudget = nil
        configuration.slotsPerLane = 8
        if task == "weak" { configuration.synchronous = .normal }
        let complaints = Complaints()
        if task == "full" { configuration.logger = complaints.logger }
        let outbox = try await Outbox(at: path, configuration: configuration)
        let url = rest.first ?? ""
        let last = rest.last ?? ""
        switch task {
        case "run": try await outbox.run()
        case "idle": try await outbox.runUntilIdle()
        case "list":
            for try await item in outbox.items() { FileOutput.write("\(item.id) \(item.state)\n") }
            FileOutput.write("\(try await outbox.checkIntegrity())\n")
        case "stage": await stage(outbox, url, Int(last) ?? 0)
        case "full": try await FullDisk(outbox: outbox, url: url, ballast: last, complaints: complaints).run()
        default:
            for number in 0..<(Int(last) ?? 0) {
                let receipt = try await outbox.enqueue([.text("ITEM", "item-\(number)-")], to: url)
                // Each line at once: what was told of must be there.
                FileOutput.write("\(receipt.id)\n")
            }
        }
        await outbox.close()
    }

    /// Hands each over until that works, up to a limit.
    private static func stage(_ outbox: Outbox, _ url: String, _ count: Int) async {
        for number in 0..<count {
            for _ in 0..<50 {
                do throws(OutboxError) {
                    FileOutput.write("\(try await outbox.enqueue(StagedForm.make(number), to: url).id)\n")
                    break
                } catch {
                    FileOutput.write("! \(error.code)\n")
                }
            }
        }
    }
}

/// A form with bytes that get a file of their own.
enum StagedForm {
    static func make(_ number: Int) -> MultipartForm {
        [.text("ITEM", "item-\(number)-"), .data("D", [UInt8](repeating: 65, count: 40_000))]
    }
}
