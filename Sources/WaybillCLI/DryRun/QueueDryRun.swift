import Waybill
import WaybillOutbox

/// Prints what would be added to the outbox. Compresses images and checks files, but does not open the outbox.
struct QueueDryRun<Upload: DurableUpload> {
    /// The location of the outbox, without a password.
    let outbox: String
    let entries: [QueueRun<Upload>.Entry]
    /// The destination of each file for an object store; unused for forms.
    var destinations: [String] = []
    var images = ImageLog()

    func run(_ console: Console, _ json: JSONOutput?, isSilent: Bool) async throws(CommandFailure) -> Exit {
        var dryRun = DryRun(console: console, json: json, isSilent: isSilent)
        try dryRun.write("start", ["outbox": outbox], ["outbox: \(outbox)"])
        let output = dryRun
        try await dryRun.forEach(entries, name: \.file) { index, entry throws(CommandFailure) in
            try write(try await entry.make().get(), index, to: output)
        }
        return try dryRun.finish("queue", "upload")
    }

    /// Prints an upload and returns its size in bytes.
    private func write(_ upload: Upload, _ index: Int, to output: DryRun) throws(CommandFailure) -> Int64 {
        let entry = entries[index]
        let form = upload as? DurableForm
        let destination = form.map { "\($0.target.method) \(Redaction.url($0.target.url))" } ?? destinations[index]
        let parts = (form.map { DryRunPart.all(of: $0) } ?? []).omittingSizes(of: entry.unread)
        let counts = parts.isEmpty ? upload.files.compactMap(\.count) : parts.compactMap(\.size)
        let size = counts.reduce(0, +)
        let isRead = entry.unread.isEmpty
        let shownSize = isRead ? ByteCount(bytes: size).description : "length unknown until it is read"
        let head: JSONObject = [
            "index": index, "file": entry.file, "to": destination, "size": isRead ? size : nil, "parts": parts,
        ]
        let facts = ["  " + Self.facts(entry.options).joined(separator: ", ")] + parts.map { "  \($0.line)" }
        try output.write(
            "file", head + Self.members(entry.options) + images.members(of: entry.file),
            ["\(entry.file ?? "\(upload)") -> \(destination) (\(shownSize))"] + facts)
        return size
    }

    private static func facts(_ options: EnqueueOptions) -> [String] {
        [
            "priority \(options.priority.level)", options.maxAttempts.map { "\($0) attempts at most" },
            options.deadline.map { "deadline in \(Int64($0 / .seconds(1))) s" }, options.batch.map { "batch \($0)" },
            options.deduplicationKey.map { "key \($0)" },
        ].compactMap(\.self)
    }

    private static func members(_ options: EnqueueOptions) -> JSONObject {
        [
            "priority": options.priority.level, "attempts": options.maxAttempts, "deadlineSeconds": options.deadline,
            "batch": options.batch, "deduplicationKey": options.deduplicationKey,
        ]
    }
}
