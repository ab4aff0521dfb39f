/// What separates the parts of one body, as bytes.
struct PartDelimiter {
    /// The line before a part.
    let line: [UInt8]
    /// The line behind the last one. It always ends in CRLF: some servers wait for it.
    let closing: [UInt8]
    // Empty where it need not be looked for.
    private let needle: [UInt8]

    /// Takes the boundary of a body. One of 128 random bits that is made for this body can't occur in it; one that
    /// somebody chose can.
    init(_ boundary: MultipartBoundary, mayOccur: Bool) {
        let text = Array(boundary.description.utf8)
        let dashes = [UInt8](repeating: UInt8(ascii: "-"), count: 2)
        line = dashes + text + FormText.lineBreak
        closing = dashes + text + dashes + FormText.lineBreak
        needle = mayOccur ? text : []
    }

    /// Whether the boundary stands in bytes that go between delimiters; the bare text of it, for some servers look for that
    /// without the line break before it.
    func occurs(in bytes: Span<UInt8>, from start: Int = 0) -> Bool {
        !needle.isEmpty && ByteSearch.find(needle, in: bytes, from: start) != nil
    }
}
