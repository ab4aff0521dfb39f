import Waybill
import WaybillOutbox

/// Tells what became of uploads that were to be queued: a number a line on standard output, or a JSON object each.
struct QueueReport {
    private let console: Console
    private let json: JSONOutput?
    private let isSilent: Bool
    /// The images of the forms.
    private let images: ImageLog
    private let start = ContinuousClock.now
    private(set) var exit = Exit.done
    private var queued = 0
    private var kept = 0
    private var failed = 0
    private var index = 0

    init(console: Console, json: JSONOutput?, isSilent: Bool, images: ImageLog = ImageLog()) {
        (self.console, self.json, self.isSilent, self.images) = (console, json, isSilent, images)
    }

    /// One that is in the outbox.
    mutating func add(_ receipt: OutboxReceipt, file: String?, size: Int64?) throws(CommandFailure) {
        if receipt.isNew { queued += 1 } else { kept += 1 }
        if let json {
            try json.write(
                "queued",
                head(file) + [
                    JSONMember("id", .int(receipt.id.rawValue)), JSONMember("isNew", .bool(receipt.isNew)),
                    JSONMember("size", .int(orNull: size)),
                ] + images.members(of: file))
        } else {
            try StandardOutput.write(Array("\(receipt.id)\n".utf8))
        }
        if !receipt.isNew, !isSilent, json == nil {
            console.line("\(file.map { "\($0): " } ?? "")item \(receipt.id) has the key already and was kept")
        }
        index += 1
    }

    /// One that can't be queued.
    mutating func add(_ failure: CommandFailure, file: String?) throws(CommandFailure) {
        failed += 1
        exit = exit.worse(failure.exit)
        console.failure("\(file.map { "\($0): " } ?? "")\(failure.message)")
        if let json {
            try json.write(
                "file",
                head(file) + [
                    JSONMember("result", .string("failed")), JSONMember("exit", .int(Int64(failure.exit.rawValue))),
                    JSONMember(
                        "error",
                        .object([
                            JSONMember("code", .string(failure.code.description)),
                            JSONMember("message", .string(failure.message)),
                        ])),
                ])
        }
        index += 1
    }

    /// The end.
    mutating func finish(signal: Int32?, of count: Int) -> Exit {
        if let signal, queued + kept + failed < count { exit = .signal(signal) }
        if let json {
            let members = [
                JSONMember("result", .string(exit == .done ? "queued" : "failed")),
                JSONMember("exit", .int(Int64(exit.rawValue))), JSONMember("files", .int(Int64(count))),
                JSONMember("queued", .int(Int64(queued))), JSONMember("kept", .int(Int64(kept))),
                JSONMember("failed", .int(Int64(failed))),
                JSONMember("seconds", .double(SummaryText.value(ContinuousClock.now - start))),
                JSONMember("signal", .int(orNull: signal.map(Int64.init))),
            ]
            return console.deliver(exit) { () throws(CommandFailure) in try json.write("summary", members) }
        }
        guard count > 1 else { return exit }
        let rest = [(kept, "there already"), (failed, "failed"), (count - queued - kept - failed, "not queued")]
        let tail = rest.filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }.joined()
        let line = "\(queued) of \(count) uploads queued\(tail)"
        if exit != .done { console.failure(line) } else if !isSilent { console.line(line) }
        return exit
    }

    private func head(_ file: String?) -> [JSONMember] {
        [JSONMember("index", .int(Int64(index))), JSONMember("file", .string(orNull: file))]
    }
}
