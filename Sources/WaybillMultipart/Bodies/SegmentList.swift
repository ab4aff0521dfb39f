/// A stretch of a body.
enum Segment: Sendable {
    /// Bytes in memory.
    case bytes([UInt8])
    /// The bytes of a file, as many as it had when it was inspected.
    case file(FileSlice)
    /// What a stream gives; the index is its place among the streams of the list.
    case stream(Int)
    /// No bytes: here every file must still be what it was.
    case verification
}

/// A body as the stretches that make it up. What is counted here is what ``SegmentReader`` writes: nothing else knows
/// the length of a body.
struct SegmentList: Sendable {
    private(set) var segments: [Segment] = []
    private(set) var sources: [SourceFile] = []
    private(set) var streams: [StreamSource] = []
    /// The bytes of all segments whose number of bytes is known; the largest number there is if there are more.
    private(set) var knownLength: Int64 = 0
    /// Whether there are more bytes than a number can say. Such a list must not be read.
    private(set) var isTooLong = false
    private var isLengthKnown = true
    // Small neighbours are joined, so that a reader copies headers, fields and line breaks in one piece.
    private var joined: [UInt8] = []

    /// The bytes of all segments, or `nil` when a stream doesn't know how many it has.
    var length: Int64? { isLengthKnown ? knownLength : nil }

    /// Has bytes written behind those that are in memory.
    mutating func write(_ writing: (inout [UInt8]) throws(BodyError) -> Void) throws(BodyError) {
        if joined.count >= Self.longestJoint { flush() }
        if joined.isEmpty { joined.reserveCapacity(Self.usualJoint) }
        let before = joined.count
        try writing(&joined)
        count(Int64(joined.count - before))
    }

    mutating func append(_ bytes: [UInt8]) {
        count(Int64(bytes.count))
        if bytes.count <= Self.joinedAtMost {
            if joined.count >= Self.longestJoint { flush() }
            joined += bytes
        } else {
            flush()
            segments.append(.bytes(bytes))
        }
    }

    mutating func append(_ slice: FileSlice) {
        count(slice.count)
        flush()
        segments.append(.file(slice))
        if slice.source.held == nil { sources.append(slice.source) }
    }

    mutating func append(_ stream: StreamSource) {
        if let length = stream.length { count(length) } else { isLengthKnown = false }
        flush()
        segments.append(.stream(streams.count))
        streams.append(stream)
    }

    mutating func appendVerification() {
        guard !sources.isEmpty else { return }
        flush()
        segments.append(.verification)
    }

    consuming func finished() -> SegmentList {
        flush()
        return self
    }

    private mutating func count(_ bytes: Int64) {
        isTooLong = isTooLong || knownLength > .max - bytes
        knownLength.addSaturating(bytes)
    }

    private mutating func flush() {
        guard !joined.isEmpty else { return }
        segments.append(.bytes(joined))
        joined = []
    }

    private static let joinedAtMost = 4_096
    // One header and what surrounds it.
    private static let usualJoint = 240
    // A million fields are not one array that doubles and doubles.
    private static let longestJoint = 1 << 20
}

extension Int64 {
    /// Adds a number of bytes, and stops at the largest number there is.
    mutating func addSaturating(_ count: Int64) {
        let (sum, isTooLarge) = addingReportingOverflow(count)
        self = isTooLarge ? .max : sum
    }
}

extension SegmentList: CustomReflectable {
    /// The length only: the segments hold what must not be printed.
    var customMirror: Mirror { Mirror(self, children: ["length": length as Any]) }
}
