import WaybillCore

/// A stream as a segment of a body: its declared length, and the creation of a reader for each attempt.
struct StreamSource: Sendable {
    private enum Kind: Sendable {
        case direct(StreamOrigin)
        case copied(CopiedStream)
    }

    /// The number of bytes of the segment: the declared length of the stream, or the length of the range.
    var length: Int64? { range.map { $0.upperBound - $0.lowerBound } ?? streamLength }
    let isReplayable: Bool
    private let streamLength: Int64?
    /// The range of the stream that is the segment; `nil` for the whole stream.
    private var range: Range<Int64>?
    private let location: PartLocation?
    private let kind: Kind

    init(
        _ origin: StreamOrigin, length: Int64?, replay: StreamReplay, directory: String?, at location: PartLocation?
    ) {
        streamLength = length
        self.location = location
        isReplayable = origin.isReplayable || replay == .fromCopy
        if replay == .fromCopy, case .single = origin {
            kind = .copied(CopiedStream(origin, directory: directory, at: location))
        } else {
            kind = .direct(origin)
        }
    }

    /// Returns a range of the stream as a segment.
    func slice(_ range: Range<Int64>) -> StreamSource {
        var slice = self
        slice.range = range
        return slice
    }

    /// Creates the reader of one attempt. The stream is not started before the first read.
    func makeReader(disk: DiskAccess, wake: @escaping @Sendable () -> Void) throws(BodyError) -> any BodyReader {
        guard let range else { return try makeReader(from: 0, disk: disk, wake: wake).reader }
        let (reader, start) = try makeReader(from: range.lowerBound, disk: disk, wake: wake)
        let rest = range.lowerBound - start..<range.upperBound - start
        return RangeReader(reader, range: rest, bodyLength: streamLength.map { $0 - start }, wake: wake)
    }

    /// Creates a reader that starts at an offset, or before it.
    ///
    /// - Returns: The reader and the position of its first byte.
    private func makeReader(
        from offset: Int64, disk: DiskAccess, wake: @escaping @Sendable () -> Void
    ) throws(BodyError) -> (reader: any BodyReader, start: Int64) {
        let length = streamLength
        let slot = ChunkSlot(wake: wake)
        switch kind {
        case .direct(let origin):
            let pump = try origin.pump(at: location)
            let reader = SequenceReader(length: length, slot: slot, at: location) {
                Task {
                    do {
                        try await pump { await slot.put($0) }
                        slot.end(nil)
                    } catch {
                        slot.end(error)
                    }
                }
            }
            return (reader, 0)
        case .copied(let stream):
            let start = min(offset, stream.copiedBytes)
            let reader = CopiedStreamReader(
                stream, from: start, length: length, slot: slot, disk: disk, at: location, wake: wake)
            return (reader, start)
        }
    }
}
