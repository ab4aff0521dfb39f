import Glibc
import TestSupport
import Waybill

@testable import WaybillOutbox

/// A worker that is killed repeatedly while it delivers, and a check of the results.
struct KillRun {
    var uploads = 1_000
    var kills = 100
    /// The number of requests that fail at the server.
    var faults = 60
    var honoursKeys: Bool
    var onUnknown = UnknownPolicy.fail

    /// The results. All but `delivered`, `doubtful` and `repeatedBodies` must be zero or empty.
    struct Results: CustomStringConvertible {
        var delivered = 0
        /// Items that failed with an unknown outcome; each is listed.
        var doubtful = 0
        var repeatedBodies = 0
        /// Items that are `done` without an effect, or failed without being marked doubtful.
        var lost: [String] = []
        var duplicated: [String] = []
        var stuck: [String] = []
        /// Uploads whose body or key differed from the enqueued one in any attempt.
        var altered: [String] = []
        var unknownRequests = 0
        var orphans: [String] = []
        var integrity = ""
        var kills = 0

        var description: String {
            """
            \(delivered) delivered, \(doubtful) doubtful, \(lost.count) lost, \(duplicated.count) duplicated, \(stuck.count) stuck, \
            \(repeatedBodies) bodies repeated, \(altered.count) altered, \(kills) kills, integrity \(integrity)
            """
        }
    }

    static let worker = "\(ProjectRoot.products)/OutboxTestHelper"

    func run(using random: inout SeededGenerator) async throws -> Results {
        let directory = try TemporaryDirectory()
        let server = try VerifyingServer(
            honoursKeys: honoursKeys, faults: faults, outOf: uploads, using: &random)
        let path = directory.path("outbox")
        let digests = try await fill(path, server)
        var results = Results()
        var seen = 0
        while results.kills < kills {
            let child = try ChildProcess(Self.worker, ["run", path])
            let enough = seen + Int.random(in: 1...max(1, uploads * 6 / 5 / kills), using: &random)
            async let end = child.finish()
            let arrived = Task { try await server.server.waitUntil { $0.requests.count >= enough } }
            // There may be nothing left to send: then no request arrives, and the worker is killed anyway.
            let timeout = Duration.milliseconds(seen < uploads ? 2_000 : 200 * Slowness.factor)
            let watch = Task {
                try await Task.sleep(for: timeout)
                arrived.cancel()
            }
            _ = await arrived.result
            watch.cancel()
            child.signal(SIGKILL)
            guard try await end.exit == .signal(Int(SIGKILL)) else {
                results.stuck.append("The worker ended before it was killed: \(try await child.finish().errorText)")
                return results
            }
            results.kills += 1
            seen = server.server.requests.count
        }
        let last = try await ChildProcess(Self.worker, ["idle", path]).finish()
        if last.exit != .status(0) { results.stuck.append("The last worker failed: \(last.errorText)") }
        try await check(&results, path, server, digests)
        return results
    }

    /// Enqueues the uploads; every fourth one with staged bytes if requested.
    ///
    /// - Returns: The SHA-256 of each body, in the order of the items.
    func fill(_ path: String, _ server: VerifyingServer, staging: Bool = false) async throws -> [String] {
        let outbox = try await Outbox(at: path)
        var forms: [DurableForm] = []
        let idempotency: Idempotency = honoursKeys ? .honoured(window: .seconds(82_800)) : .ignored
        var digests: [String] = []
        for number in 0..<uploads {
            let fill = String(repeating: "x", count: staging && number % 4 == 0 ? 20_000 : 200)
            let form = try await DurableForm(
                [.text("ITEM", "item-\(number)-"), .text("FILL", fill)], to: server.server.url("/u"),
                idempotency: idempotency)
            var body: [UInt8] = []
            for try await chunk in try await form.body(CredentialTable { _ in nil }).chunks { body += chunk }
            digests.append(VerifyingServer.digest(of: body))
            forms.append(form)
        }
        var options = EnqueueOptions()
        options.onUnknown = onUnknown
        options.maxAttempts = 1_000
        let receipts = try await outbox.enqueue(contentsOf: forms, options: options)
        precondition(receipts.enumerated().allSatisfy { $0.element.id.rawValue == Int64($0.offset + 1) })
        await outbox.close()
        return digests
    }

    /// Compares the outbox with what the server received.
    func check(
        _ results: inout Results, _ path: String, _ server: VerifyingServer, _ digests: [String]
    ) async throws {
        let outbox = try await Outbox(at: path)
        let accounts = server.accounts
        for try await item in outbox.items() {
            let number = Int(item.id.rawValue - 1)
            let name = "item-\(number)-"
            let account = accounts[name] ?? VerifyingServer.UploadRecord()
            results.repeatedBodies += max(0, account.complete - 1)
            if account.effects > 1 { results.duplicated.append(name) }
            if account.keys.count > 1 || account.keys.first.map({ $0 != "\"\(item.idempotencyKey)\"" }) == true {
                results.altered.append(name)
            }
            if !account.digests.isSubset(of: [digests[number]]) { results.altered.append(name) }
            switch item.state {
            case .done:
                results.delivered += 1
                if account.effects == 0 { results.lost.append(name) }
            case .failed where item.reason == "outcomeUnknown" && item.isDoubtful: results.doubtful += 1
            case .failed, .cancelled: results.lost.append("\(name) \(item.reason ?? "")")
            default: results.stuck.append("\(name) \(item.state)")
            }
        }
        // Requests truncated before their name can't be assigned to an item; complete ones can.
        results.unknownRequests = accounts.count { name, account in
            account.complete > 0 && !(0..<uploads).contains(Int(name.dropFirst(5).dropLast()) ?? -1)
        }
        // Failed items keep their staged files, because they can be retried.
        let names = Spool(directory: outbox.path + "/spool").fileNames()
        let used = try await outbox.owner?.store.stagedInUse(names) ?? []
        results.orphans = names.filter { !used.contains($0) }
        if used.count > results.doubtful { results.orphans += used }
        results.integrity = try await outbox.owner?.store.checkIntegrity() ?? "not checked"
        await outbox.close()
    }
}
