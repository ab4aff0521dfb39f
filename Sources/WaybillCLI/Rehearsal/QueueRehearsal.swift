import Waybill
import WaybillOutbox

/// Tells what would be put into the outbox. Images are made and files are looked at, as for the outbox; it is not opened.
struct QueueRehearsal<Upload: DurableUpload> {
    /// The folder of the outbox.
    let outbox: String
    let entries: [QueueRun<Upload>.Entry]
    /// Where each file of a store goes; forms need none.
    var places: [String] = []
    var images = ImageLog()

    func run(_ console: Console, _ json: JSONOutput?, isSilent: Bool) async throws(CommandFailure) -> Exit {
        var rehearsal = Rehearsal(console: console, json: json, isSilent: isSilent)
        try rehearsal.tell("start", [JSONMember("outbox", .string(outbox))], ["into the outbox \(outbox)"])
        for (index, entry) in entries.enumerated() {
            switch await entry.make() {
            case .failure(let failure): try rehearsal.fail(index, entry.file, failure)
            case .success(let upload):
                let form = upload as? DurableForm
                // A form tells by itself where it goes, and files where they were said to go.
                let place = form.map { "\($0.target.method) \(Redaction.url($0.target.url))" } ?? places[index]
                let parts = (form.map { RehearsedPart.all(of: $0) } ?? []).leavingOut(entry.unread)
                let files = upload.files.compactMap(\.count)
                let known = parts.isEmpty ? files : parts.compactMap(\.size)
                let size = known.reduce(0, +)
                let head = [JSONMember("index", .int(Int64(index))), JSONMember("file", .string(orNull: entry.file))]
                let facts = Self.facts(entry.options)
                try rehearsal.tell(
                    "file",
                    head + [
                        JSONMember("to", .string(place)), JSONMember("size", entry.unread.isEmpty ? .int(size) : .null),
                        JSONMember("parts", .array(parts.map(\.value))),
                    ] + facts.map(\.member) + images.members(of: entry.file),
                    [
                        "\(entry.file ?? "\(upload)") -> \(place) (\(entry.unread.isEmpty ? ByteCount(bytes: size).description : "length not known before it is read"))",
                        "  " + facts.compactMap(\.text).joined(separator: ", "),
                    ] + parts.map { "  \($0.line)" })
                rehearsal.count(size)
            }
        }
        return try rehearsal.finish("queue", "upload")
    }

    private static func facts(_ options: EnqueueOptions) -> [(text: String?, member: JSONMember)] {
        let deadline = options.deadline.map(SummaryText.value)
        return [
            ("priority \(options.priority)", JSONMember("priority", .int(Int64(options.priority)))),
            (
                options.maxAttempts.map { "\($0) attempts at most" },
                JSONMember("attempts", .int(orNull: options.maxAttempts.map(Int64.init)))
            ),
            (
                deadline.map { "begun within \(Int64($0)) s" },
                JSONMember("deadlineSeconds", deadline.map { .double($0) } ?? .null)
            ),
            (options.batch.map { "batch \($0)" }, JSONMember("batch", .string(orNull: options.batch))),
            (options.dedupeKey.map { "key \($0)" }, JSONMember("dedupeKey", .string(orNull: options.dedupeKey))),
        ]
    }
}
