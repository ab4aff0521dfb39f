import Waybill

/// What became of a picture, as a line and as JSON.
struct ShrinkReport: Sendable {
    var input: String
    var output: String
    var picture: JPEGReport

    /// `card.jpg → card-waybill.jpg: 3.4 MiB → 99.9 KiB, 1632 × 1224, quality 71; was 4000 × 3000; removed Exif, XMP`.
    var line: String {
        var line = "\(name) → \(Self.shown(output, "standard output")): \(ImageText.change(picture))"
        if picture.width != picture.originalWidth || picture.height != picture.originalHeight {
            line += "; was \(picture.originalWidth) × \(picture.originalHeight)"
        }
        if picture.orientation != 1 { line += ", turned upright" }
        if let profile = picture.convertedProfile { line += ", colours converted from \(profile)" }
        if let profile = picture.droppedProfile { line += ", colours of profile \(profile) kept as they are" }
        if !picture.stripped.isEmpty { line += "; removed \(picture.stripped.joined(separator: ", "))" }
        return line
    }

    /// A warning about a result in which text may be unreadable.
    func warning(_ options: JPEGOptions) -> String? { ImageText.warning(name, picture, options) }

    var members: [JSONMember] {
        [
            JSONMember("result", .string("succeeded")),
            JSONMember("exit", .int(0)),
            JSONMember("input", .string(input)),
            JSONMember("output", .string(output)),
        ] + ImageText.members(picture) + [
            JSONMember("orientation", .int(Int64(picture.orientation))),
            JSONMember("convertedProfile", .string(orNull: picture.convertedProfile)),
            JSONMember("droppedProfile", .string(orNull: picture.droppedProfile)),
            JSONMember("removed", .array(picture.stripped.map { .string($0) })),
            JSONMember("cpuSeconds", .double(SummaryText.value(picture.cpuTime))),
        ]
    }

    private var name: String { Self.shown(input, "standard input") }

    private static func shown(_ path: String, _ stream: String) -> String { path == "-" ? stream : path }
}
