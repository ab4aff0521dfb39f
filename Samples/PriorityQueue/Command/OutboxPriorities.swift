import LittleBackend
import Waybill
import WaybillOutbox

/// Priorities and duplicates in an outbox. Both apply across processes and restarts.
struct OutboxPriorities {
    let directory: String
    /// Called with each line of output.
    var report: @Sendable (String) -> Void

    /// The result of the run.
    struct Outcome {
        /// The names, in the order in which the backend stored them.
        var order: [String]
        /// Whether the second letter was added.
        var isLetterNew: Bool
        /// The final state of each item, by name.
        var states: [String: OutboxState]
    }

    @discardableResult
    func run() async throws -> Outcome {
        let backend = try await LittleBackend(token: Note.token)
        let outbox = try await Outbox(at: directory)
        var names: [OutboxID: String] = [:]
        func add(
            _ name: String, priority: UploadPriority = .normal, key: String? = nil,
            _ duplicates: DuplicatePolicy = .keep
        )
            async throws
            -> OutboxReceipt
        {
            let receipt = try await enqueue(
                name, priority: priority, key: key, duplicates, to: outbox, url: backend.url)
            names[receipt.id] = names[receipt.id] ?? name
            return receipt
        }
        _ = try await add("report", priority: .veryLow)
        _ = try await add("letter", key: "letter")
        let again = try await add("letter", key: "letter")
        report("the letter again: \(again.isNew ? "added" : "#\(again.id) exists and is kept")")
        _ = try await add("address of May", key: "address")
        _ = try await add("address of June", key: "address", .replace)
        report("the newer address replaces the queued one")
        _ = try await add("page 1", key: "log")
        _ = try await add("page 2", key: "log", .append)
        report("page 2 is sent after page 1 has ended")
        _ = try await add("alarm", priority: .veryHigh)
        report("queued: \(try await outbox.tally()[.ready]); the alarm was added last")
        await outbox.close()

        let states = try await deliver()
        let order = Note.order(await backend.snapshot)
        report("delivered: \(order.joined(separator: ", "))")
        await backend.stop()
        let named = states.map { (names[$0.key] ?? "", $0.value) }
        return Outcome(order: order, isLetterNew: again.isNew, states: Dictionary(named) { $1 })
    }

    /// Delivers as another process does later.
    private func deliver() async throws -> [OutboxID: OutboxState] {
        var configuration = Outbox.Configuration()
        configuration.maximumConcurrentDeliveries = 1
        configuration.credentials = CredentialTable { $0 == "backend" ? .secret(Note.token) : nil }
        let outbox = try await Outbox(at: directory, configuration: configuration)
        try await outbox.runUntilIdle()
        var states: [OutboxID: OutboxState] = [:]
        for try await item in outbox.items() { states[item.id] = item.state }
        await outbox.close()
        return states
    }

    private func enqueue(
        _ name: String, priority: UploadPriority, key: String?, _ duplicates: DuplicatePolicy, to outbox: Outbox,
        url: String
    ) async throws -> OutboxReceipt {
        var options = EnqueueOptions()
        options.priority = priority
        options.deduplicationKey = key
        options.duplicates = duplicates
        return try await outbox.enqueue(
            [.credential("TOKEN", named: "backend"), .text("BUSINESSNO", name)], to: url, options: options)
    }
}
