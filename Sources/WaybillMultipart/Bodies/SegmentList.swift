/// A segment of a body.
enum Segment: Sendable {
    /// Bytes in memory.
    case bytes([UInt8])
    /// The bytes of a file, as many as it had when it was inspected.
    case file(FileSlice)
    /// The bytes of a stream; the value is its index in the streams of the list.
    case stream(Int)
    /// No bytes: the point at which every file must be unchanged.
    case verification
}

/// A body as a list of segments. The length counted here is exactly what ``SegmentReader`` writes.
struct SegmentList: Sendable {
    private(set) var segments: [Segment] = []
    private(set) var sources: [SourceFile] = []
    private(set) var streams: [StreamSource] = []
    /// The total length of all segments of known length; `Int64.max` on overflow.
    private(set) var knownLength: Int64 = 0
    /// Whether the length exceeds `Int64`. Such a list must not be read.
    private(set) var isTooLong = false
    private var isLengthKnown = true
    // Small adjacent segments are joined, so that a reader copies headers, fields and line breaks as one block.
    private var joined: [UInt8] = []

    /// Whether the check of the files comes after the last byte.
    var endsWithVerification: Bool {
        if case .verification = segments.last { true } else { false }
    }

    /// The total length, or `nil` if the length of a stream is unknown.
    var length: Int64? { isLengthKnown ? knownLength : nil }

    /// Calls a closure that appends bytes to those in memory.
    mutating func write(_ writing: (inout [UInt8]) throws(BodyError) -> Void) throws(BodyError) {
        if joined.count >= Self.maxJoinedBytes { flush() }
        if joined.isEmpty { joined.reserveCapacity(Self.initialCapacity) }
        let before = joined.count
        try writing(&joined)
        count(Int64(joined.count - before))
    }

    mutating func append(_ bytes: [UInt8]) {
        count(Int64(bytes.count))
        if bytes.count <= Self.maxJoinedSegmentBytes {
            if joined.count >= Self.maxJoinedBytes { flush() }
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
        if slice.source.openDescriptor == nil { sources.append(slice.source) }
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

    /// Returns the segments of a range of a body of known length. It ends with a check of its files.
    func slice(_ range: Range<Int64>) -> SegmentList {
        guard range != 0..<knownLength else { return self }
        var slice = SegmentList()
        var start: Int64 = 0
        for segment in segments where start < range.upperBound {
            let count = self.count(of: segment)
            let part = range.clamped(to: start..<start + count)
            start += count
            guard !part.isEmpty else { continue }
            let (lower, upper) = (part.lowerBound - start + count, part.upperBound - start + count)
            switch segment {
            case .bytes(let bytes): slice.append(Array(bytes[Int(lower)..<Int(upper)]))
            case .file(let file): slice.append(file.slice(lower..<upper))
            case .stream(let number): slice.append(streams[number].slice(lower..<upper))
            case .verification: break
            }
        }
        // The last range leaves only if no file has changed since the first.
        if range.upperBound == knownLength { slice.sources = sources }
        slice.appendVerification()
        return slice.finished()
    }

    /// Returns the list with all occurrences of `old` in its bytes replaced by as many bytes.
    func replacing(_ old: [UInt8], with new: [UInt8]) -> SegmentList {
        precondition(old.count == new.count && !old.isEmpty)
        var list = self
        list.segments = segments.map { segment in
            guard case .bytes(var bytes) = segment else { return segment }
            var start = 0
            while let place = ByteSearch.find(old, in: bytes.span, from: start) {
                bytes.replaceSubrange(place..<place + old.count, with: new)
                start = place + old.count
            }
            return .bytes(bytes)
        }
        return list
    }

    private func count(of segment: Segment) -> Int64 {
        switch segment {
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let slice): slice.count
        case .stream(let number): streams[number].length ?? 0
        case .verification: 0
        }
    }

    private static let maxJoinedSegmentBytes = 4_096
    // The size of one header with its surroundings.
    private static let initialCapacity = 240
    // Limits the reallocation of one growing array in a form with a million fields.
    private static let maxJoinedBytes = 1 << 20
}

extension Int64 {
    /// Adds a number of bytes, saturating at the maximum value.
    mutating func addSaturating(_ count: Int64) {
        let (sum, isTooLarge) = addingReportingOverflow(count)
        self = isTooLarge ? .max : sum
    }
}

extension SegmentList: CustomReflectable {
    /// Only the length: the segments contain values that must not be printed.
    var customMirror: Mirror { Mirror(self, children: ["length": length as Any]) }
}
