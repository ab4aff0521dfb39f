import Waybill

/// A snapshot as a plain line: `sending front: 62 %, 1.2 of 2.0 MiB, 1.1 MiB/s, ETA 0:12, attempt 2`.
enum PlainLine {
    static func text(_ progress: UploadProgress) -> String {
        if progress.phase == .retrying { return ProgressLine.lead(progress) }
        let percent = progress.fraction.map { "\(ProgressLine.percentage($0)) %" } ?? ""
        let facts = [
            percent, ProgressLine.bytes(progress), ProgressLine.rate(progress), ProgressLine.eta(progress),
            ProgressLine.attempt(progress),
        ].filter { !$0.isEmpty }
        return "\(ProgressLine.lead(progress)): \(facts.joined(separator: ", "))"
    }
}

/// A snapshot as members of a JSON object.
enum ProgressJSON {
    static func members(of progress: UploadProgress) -> [JSONMember] {
        [
            JSONMember("phase", .string(progress.phase.rawValue)),
            JSONMember("attempt", .int(Int64(progress.attempt))),
            JSONMember("sent", .int(progress.sent)),
            JSONMember("acknowledged", .int(progress.acknowledged)),
            JSONMember("total", .int(orNull: progress.total)),
            JSONMember("accuracy", .string("\(progress.accuracy)")),
            JSONMember("bytesPerSecond", .int(Int64(progress.bytesPerSecond))),
            JSONMember("parts", .array(progress.parts.map(part))),
        ] + (progress.retry.map { [JSONMember("retry", .object(RetryText.members(of: $0)))] } ?? [])
    }

    private static func part(_ part: PartProgress) -> JSONValue {
        .object([
            JSONMember("name", .string(part.name)), JSONMember("fileName", .string(orNull: part.fileName)),
            JSONMember("acknowledged", .int(part.acknowledged)), JSONMember("total", .int(part.total)),
        ])
    }
}
