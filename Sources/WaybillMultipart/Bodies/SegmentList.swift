/// A stretch of a body.
enum Segment: Sendable {
    /// Bytes in memory.
    case bytes([UInt8])
    /// The bytes of a file, as many as it had when it was inspected.
    case file(SourceFile)
    /// No bytes: here every file must still be what it was.
    case verification
}

/// A body as the stretches that make it up. What is counted here is what ``SegmentReader`` writes: nothing else knows
/// the length of a body.
struct SegmentList: Sendable {
    private(set) var segments: [Segment] = []
    private(set) var sources: [SourceFile] = []
    /// The bytes of all segments.
    private(set) var length: Int64 = 0
    // Small neighbours are joined, so that a reader copies headers, fields and line breaks in one piece.
    private var joined: [UInt8] = []

    mutating func append(_ bytes: [UInt8]) {
        length += Int64(bytes.count)
        if bytes.count <= Self.joinedAtMost {
            joined += bytes
        } else {
            flush()
            segments.append(.bytes(bytes))
        }
    }

    mutating func append(_ source: SourceFile) {
        length += source.stamp.size
        flush()
        segments.append(.file(source))
        sources.append(source)
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

    private mutating func flush() {
        guard !joined.isEmpty else { return }
        segments.append(.bytes(joined))
        joined = []
    }

    private static let joinedAtMost = 4_096
}

extension SegmentList: CustomReflectable {
    /// The length only: the segments hold what must not be printed.
    var customMirror: Mirror { Mirror(self, children: ["length": length]) }
}
