import Waybill

/// What became of a picture, as a line and as JSON.
struct ShrinkReport: Sendable {
    var input: String
    var output: String
    var picture: JPEGReport

    /// `card.jpg: 4000 x 3000, 3.4 MiB -> card-waybill.jpg: 1632 x 1224, 99.9 KiB (2.9 %), quality 71; removed Exif, XMP`.
    var line: String {
        let before = "\(picture.originalWidth) x \(picture.originalHeight), \(size(picture.originalBytes))"
        let after = "\(picture.width) x \(picture.height), \(size(picture.bytes)) (\(share))"
        var line = "\(Self.shown(input, "standard input")): \(before)"
        line += " -> \(Self.shown(output, "standard output")): \(after)"
        if picture.isPassedThrough {
            line += ", nothing lost"
        } else if let quality = picture.quality {
            line += ", quality \(quality)"
        }
        if picture.orientation != 1 { line += ", turned upright" }
        if let profile = picture.convertedProfile { line += ", colours converted from \(profile)" }
        if let profile = picture.droppedProfile { line += ", colours of profile \(profile) kept as they are" }
        if !picture.stripped.isEmpty { line += "; removed \(picture.stripped.joined(separator: ", "))" }
        return line
    }

    var members: [JSONMember] {
        [
            JSONMember("result", .string("succeeded")),
            JSONMember("exit", .int(0)),
            JSONMember("input", .string(input)),
            JSONMember("output", .string(output)),
            JSONMember("originalBytes", .int(Int64(picture.originalBytes))),
            JSONMember("bytes", .int(Int64(picture.bytes))),
            JSONMember("originalWidth", .int(Int64(picture.originalWidth))),
            JSONMember("originalHeight", .int(Int64(picture.originalHeight))),
            JSONMember("width", .int(Int64(picture.width))),
            JSONMember("height", .int(Int64(picture.height))),
            JSONMember("orientation", .int(Int64(picture.orientation))),
            JSONMember("quality", .int(orNull: picture.quality.map(Int64.init))),
            JSONMember("convertedProfile", .string(orNull: picture.convertedProfile)),
            JSONMember("droppedProfile", .string(orNull: picture.droppedProfile)),
            JSONMember("passedThrough", .bool(picture.isPassedThrough)),
            JSONMember("removed", .array(picture.stripped.map { .string($0) })),
            JSONMember("cpuSeconds", .double(SummaryText.value(picture.cpuTime))),
        ]
    }

    private var share: String { ReportText.share(picture.bytes, of: picture.originalBytes) }

    private func size(_ bytes: Int) -> String { ByteCount(bytes: Int64(bytes)).description }

    private static func shown(_ path: String, _ stream: String) -> String { path == "-" ? stream : path }
}
