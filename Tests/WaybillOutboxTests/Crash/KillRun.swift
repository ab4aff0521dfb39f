import Glibc
import TestSupport
import Waybill

@testable import WaybillOutbox

/// A worker that is killed again and again while it delivers, and the books afterwards.
struct KillRun {
    var uploads = 1_000
    var kills = 100
    /// Requests of which something goes wrong at the server.
    var faults = 60
    var honoursKeys: Bool
    var onUnknown = UnknownPolicy.fail

    /// What came of it. All but `delivered`, `doubtful` and `repeatedBodies` has to be nothing.
    struct Books: CustomStringConvertible {
        var delivered = 0
        /// Items that failed because nobody could say whether they had arrived; each is listed.
        var doubtful = 0
        var repeatedBodies = 0
        /// Items that are `done` and had no effect, or failed without a word of doubt.
        var lost: [String] = []
        var doubled: [String] = []
        var stuck: [String] = []
        /// Uploads whose bytes or key were not the same each time.
        var altered: [String] = []
        var strangers = 0
        var orphans: [String] = []
        var integrity = ""
        var kills = 0

        var description: String {
            """
            \(delivered) delivered, \(doubtful) doubtful, \(lost.count) lost, \(doubled.count) doubled, \(stuck.count) stuck, \
            \(repeatedBodies) bodies repeated, \(altered.count) altered, \(kills) kills, integrity \(integrity)
            """
        }
    }

    static let worker = "\(ProjectRoot.products)/OutboxTestWorker"

    func run(using random: inout SeededGenerator) async throws -> Books {
        let folder = try TemporaryDirectory()
        let server = try VerifyingServer(
            honoursKeys: honoursKeys, faults: faults, outOf: uploads, using: &random)
        let path = folder.path("outbox")
        try await fill(path, server)
        var books = Books()
        var seen = 0
        while books.kills < kills {
            let child = try ChildProcess(Self.worker, ["run", path])
            let enough = seen + Int.random(in: 1...max(1, uploads * 6 / 5 / kills), using: &random)
            async let end = child.finish()
            let arrived = Task { try await server.server.waitUntil { $0.requests.count >= enough } }
            let watch = Task {
                // Nothing may be left to send: then nothing arrives, and it can be killed all the same.
                try await Task.sleep(for: .seconds(2))
                arrived.cancel()
            }
            _ = await arrived.result
            watch.cancel()
            child.signal(SIGKILL)
            guard try await end.exit == .signal(Int(SIGKILL)) else {
                books.stuck.append("the worker ended by itself: \(try await child.finish().errorText)")
                return books
            }
            books.kills += 1
            seen = server.server.requests.count
        }
        let last = try await ChildProcess(Self.worker, ["idle", path]).finish()
        if last.exit != .status(0) { books.stuck.append("the last worker failed: \(last.errorText)") }
        try await balance(&books, path, server)
        return books
    }

    private func fill(_ path: String, _ server: VerifyingServer) async throws {
        let outbox = try await Outbox(at: path)
        var forms: [DurableForm] = []
        let idempotency: Idempotency = honoursKeys ? .honoured(window: .seconds(82_800)) : .ignored
        for number in 0..<uploads {
            forms.append(
                try await DurableForm(
                    [.text("ITEM", "item-\(number)-"), .text("FILL", String(repeating: "x", count: 200))],
                    to: server.server.url("/u"), idempotency: idempotency))
        }
        var options = EnqueueOptions()
        options.onUnknown = onUnknown
        options.maxAttempts = 1_000
        let receipts = try await outbox.enqueue(contentsOf: forms, options: options)
        precondition(receipts.enumerated().allSatisfy { $0.element.id.rawValue == Int64($0.offset + 1) })
        await outbox.close()
    }

    private func balance(_ books: inout Books, _ path: String, _ server: VerifyingServer) async throws {
        let outbox = try await Outbox(at: path)
        let accounts = server.accounts
        for try await item in outbox.items() {
            let name = "item-\(item.id.rawValue - 1)-"
            let account = accounts[name] ?? VerifyingServer.Account()
            books.repeatedBodies += max(0, account.complete - 1)
            if account.effects > 1 { books.doubled.append(name) }
            if account.keys.count > 1 || account.keys.first.map({ $0 != "\"\(item.idempotencyKey)\"" }) == true {
                books.altered.append(name)
            }
            switch item.state {
            case .done:
                books.delivered += 1
                if account.effects == 0 { books.lost.append(name) }
            case .failed where item.reason == "outcomeUnknown" && item.isDoubtful: books.doubtful += 1
            case .failed, .cancelled: books.lost.append("\(name) \(item.reason ?? "")")
            default: books.stuck.append("\(name) \(item.state)")
            }
        }
        // What was cut before its name is nobody's; what came whole is somebody's.
        books.strangers = accounts.count { name, account in
            account.complete > 0 && !(0..<uploads).contains(Int(name.dropFirst(5).dropLast()) ?? -1)
        }
        books.orphans = Spool(folder: outbox.folder.spool).fileNames()
        books.integrity = try await outbox.owner?.store.checkIntegrity() ?? "not looked at"
        await outbox.close()
    }
}
