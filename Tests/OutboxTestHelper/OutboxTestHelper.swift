import COutboxFaults
import Glibc
import Waybill
import WaybillOutbox

#if Shared
    import WaybillPostgres
#endif

/// A program that tests kill, and whose file calls they let fail: it delivers from an outbox, or enqueues uploads and
/// reports each of them.
///
///     OutboxTestHelper run PATH              delivers until it is killed
///     OutboxTestHelper idle PATH             delivers until the queue is idle
///     OutboxTestHelper add PATH URL COUNT    enqueues uploads and prints the id of each when it is stored
///     OutboxTestHelper keyed PATH URL COUNT  the same for a server that honours idempotency keys
///     OutboxTestHelper weak PATH URL COUNT   the same, without durability in a power cut
///     OutboxTestHelper stage PATH URL COUNT  the same with staged bytes; errors are reported, then retried
///     OutboxTestHelper full PATH URL FILE    fills the disk, tries to continue, removes FILE, and continues
///     OutboxTestHelper rates PATH COUNT [WORKERS]  measures the queue file that it creates there, or an empty database
///     OutboxTestHelper backlog PATH COUNT    measures leases beside COUNT unfinished items, which it adds if they are missing
///     OutboxTestHelper list PATH             prints all items, one per line, and the integrity of the file
///
/// PATH is a directory, or the URL of a PostgreSQL database; OUTBOX_LEASE_SECONDS is then the duration of a lease, and
/// OUTBOX_POOLER means that PgBouncer is in between.
/// Errors are reported as `! code`. A fatal error ends it with status 3. Its calls can be made to fail:
/// `COutboxFaults.h`.
@main
struct OutboxTestHelper {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else {
            throw OutboxError(.notFound, "Usage: run|idle|add|weak|stage|full|rates|backlog|list PATH [URL COUNT|FILE]")
        }
        do throws(OutboxError) {
            try await work(arguments[1], arguments[2], arguments.dropFirst(3))
        } catch {
            FileOutput.write("! \(error.code)\n")
            exit(3)
        }
    }

    private static func work(_ task: String, _ path: String, _ rest: ArraySlice<String>) async throws(OutboxError) {
        if task == "rates" {
            let numbers = rest.compactMap { Int($0) }
            return try await StoreRates(
                path: path, count: numbers.first ?? 100_000, workers: numbers.dropFirst().first ?? 1
            ).run()
        }
        if task == "backlog" {
            let store: any OutboxStore =
                path.hasPrefix("postgresql://") ? try await sharedStore(path).open() : try SQLiteStore(path: path)
            try await LeaseTimes(store: store, count: rest.first.flatMap { Int($0) } ?? 100_000).run()
            return await store.close()
        }
        var configuration = Outbox.Configuration()
        configuration.retry = OutboxRetry(maxAttempts: 1_000, baseDelay: .milliseconds(1), maxDelay: .milliseconds(20))
        configuration.retryBudget = nil
        configuration.maximumConcurrentDeliveriesPerLane = 8
        if task == "weak" { configuration.synchronous = .normal }
        let errorLog = ErrorLog()
        if task == "full" { configuration.logger = errorLog.logger }
        let outbox = try await open(path, configuration)
        let url = rest.first ?? ""
        let last = rest.last ?? ""
        switch task {
        case "run": try await outbox.run()
        case "idle": try await outbox.runUntilIdle()
        case "list":
            for try await item in outbox.items() { FileOutput.write("\(item.id) \(item.state)\n") }
            FileOutput.write("\(try await outbox.checkIntegrity())\n")
        case "stage": await stage(outbox, url, Int(last) ?? 0)
        case "full": try await FullDisk(outbox: outbox, url: url, ballast: last, errorLog: errorLog).run()
        default:
            for number in 0..<(Int(last) ?? 0) {
                let receipt = try await outbox.enqueue(
                    [.text("ITEM", "item-\(number)-")], to: url,
                    idempotency: task == "keyed" ? .honoured(window: .seconds(86_400)) : .ignored)
                // Each line is written immediately: reported items must exist.
                FileOutput.write("\(receipt.id)\n")
            }
        }
        await outbox.close()
    }

    private static func open(
        _ path: String, _ configuration: Outbox.Configuration
    ) async throws(OutboxError) -> Outbox {
        guard path.hasPrefix("postgresql://") else { return try await Outbox(at: path, configuration: configuration) }
        var configuration = configuration
        configuration.store = try sharedStore(path)
        return try await Outbox(configuration: configuration)
    }

    /// The store in the database of a URL.
    static func sharedStore(_ url: String) throws(OutboxError) -> SharedOutboxStore {
        #if Shared
            var options = PostgresOptions()
            if let seconds = unsafe getenv("OUTBOX_LEASE_SECONDS").flatMap({ unsafe Double(String(cString: $0)) }) {
                options.leaseDuration = .seconds(seconds)
            }
            options.usesPooler = unsafe getenv("OUTBOX_POOLER") != nil
            return try .postgres(url, options: options)
        #else
            throw OutboxError(.notFound, "The trait Shared is disabled.")
        #endif
    }

    /// Enqueues each form, repeating it after errors up to a limit.
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

/// A form with bytes that are staged in a separate file.
enum StagedForm {
    static func make(_ number: Int) -> MultipartForm {
        [.text("ITEM", "item-\(number)-"), .data("D", [UInt8](repeating: 65, count: 40_000))]
    }
}

/// Standard output without a buffer.
enum FileOutput {
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.write(STDOUT_FILENO, bytes, bytes.count)
    }
}
