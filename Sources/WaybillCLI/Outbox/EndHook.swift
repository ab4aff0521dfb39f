import Glibc
import Waybill
import WaybillCore
import WaybillOutbox

/// Runs a command for each item that has ended: at least once, one at a time, in the order of their ends.
///
/// The command receives the item as a line of JSON on its standard input. If it fails, it is run again after a growing
/// wait, and later items wait for it. Deliveries do not. An item is acknowledged after its command has succeeded; the
/// next run continues after the last acknowledged one.
final class EndHook: Sendable {
    private let outbox: Outbox
    private let command: String
    private let console: Console
    /// The time at which a running command is ended; `nil` before a signal.
    private let deadline = Locked<ContinuousClock.Instant?>(nil)

    init(_ outbox: Outbox, command: String, console: Console) {
        (self.outbox, self.command, self.console) = (outbox, command, console)
    }

    /// Runs the command for all items that end, until the task is cancelled. A command that is running then continues.
    func follow() async {
        var failures = 0
        while !Task.isCancelled {
            let moment = outbox.changes
            if await catchUp(upTo: { Task.isCancelled }) {
                failures = 0
                await outbox.waitForChange(since: moment)
            } else {
                failures += 1
                try? await Task.sleep(for: Self.backoff.delay(after: failures))
            }
        }
    }

    /// Runs the command for the remaining items until it fails.
    func finish() async {
        let isDone = await catchUp(upTo: { [self] in hasPassed })
        let left = isDone && !hasPassed ? [] : (try? await outbox.results(for: Self.consumer)) ?? []
        guard let first = left.first else { return }
        console.failure(
            "--on-end has not succeeded for item \(first.item.id) and later ones. The next run continues with it.")
    }

    /// Ends a running command after a time, and runs no further one then.
    func stop(after time: Duration) { deadline.withLock { $0 = .now + time } }

    private var hasPassed: Bool { deadline.withLock { $0 }.map { ContinuousClock.now >= $0 } ?? false }

    /// Runs the command for all items that have ended, or until a condition is true.
    ///
    /// - Returns: Whether there was no failure.
    private func catchUp(upTo isOver: @Sendable () -> Bool) async -> Bool {
        do throws(OutboxError) {
            while true {
                let page = try await outbox.results(for: Self.consumer, limit: 50)
                if page.isEmpty { return true }
                for result in page {
                    if isOver() { return true }
                    guard await run(for: result) else { return false }
                    try await outbox.acknowledge(through: result.sequence, for: Self.consumer)
                }
            }
        } catch {
            // The run reports the error of the outbox when it ends.
            return false
        }
    }

    /// Runs the command for an item.
    ///
    /// - Returns: Whether it succeeded.
    private func run(for result: OutboxResult) async -> Bool {
        let line = JSONOutput(console).line("item", JSONObject(result), response: .response(of: result))
        let reason = await BlockingThread.run { [self] in failure(of: line) }
        if let reason {
            console.failure("--on-end failed for item \(result.item.id): \(reason). It will be run again.")
        }
        return reason == nil
    }

    private func failure(of input: String) -> String? {
        do throws(SystemError) {
            let pipe = try ProcessGroup.Pipe()
            let child = try start(with: Array(input.utf8))
            // The command writes to standard error; the pipe is not used.
            let end = ProcessGroup(child, output: pipe.reader).wait(limit: Self.limit, longest: 0) { hasPassed }.end
            return switch end {
            case .exited(0): nil
            case .exited(let status): "exit status \(status)"
            case .killed(let signal): "signal \(signal)"
            case .timedOut: "it was killed after \(Self.limit.components.seconds) s"
            case .stopped, .outputExceeded: "it was stopped"
            }
        } catch {
            return "it can't be started (errno \(error.number))"
        }
    }

    private func start(with input: [UInt8]) throws(SystemError) -> pid_t {
        // A file instead of a pipe: the command need not read it.
        let file = try AtomicFile.make(for: "\(outbox.path)/on-end", access: O_RDWR)
        try file.append(input)
        guard lseek(file.descriptor.raw, 0, SEEK_SET) == 0 else { throw SystemError.last }
        // Standard output may be JSON.
        return try ProcessGroup.start(["/bin/sh", "-c", command], input: file.descriptor.raw, output: 2, errors: 2)
    }

    private static let consumer = "on-end"
    private static let limit = Duration.seconds(300)
    private static let backoff = Backoff(from: .seconds(1), to: .seconds(300))
}
