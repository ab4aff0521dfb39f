/// Names application segments by the text they begin with.
enum SegmentName {
    private static let known: [(marker: UInt8, prefix: [UInt8], name: String)] = [
        (0xE0, Array("JFIF\0".utf8), "JFIF"),
        (0xE0, Array("JFXX\0".utf8), "JFIF thumbnail"),
        (0xE1, Array("Exif\0".utf8), "Exif"),
        (0xE1, Array("http://ns.adobe.com/".utf8), "XMP"),
        (0xE2, Array("ICC_PROFILE\0".utf8), "ICC profile"),
        (0xE2, Array("MPF\0".utf8), "MPF"),
        (0xED, Array("Photoshop".utf8), "Photoshop"),
        (0xEE, Array("Adobe".utf8), "Adobe"),
    ]

    static func of(_ marker: UInt8, _ body: ArraySlice<UInt8>) -> String {
        if marker == 0xFE { return "comment" }
        let match = known.first { $0.marker == marker && body.starts(with: $0.prefix) }
        return match?.name ?? "APP\(marker & 15)"
    }
}
