import WaybillCore

/// A stream as a segment of a body: its declared length, and the creation of a reader for each attempt.
struct StreamSource: Sendable {
    private enum Kind: Sendable {
        case direct(StreamOrigin)
        case copied(CopiedStream)
    }

    let length: Int64?
    let isReplayable: Bool
    private let location: PartLocation?
    private let kind: Kind

    init(
        _ origin: StreamOrigin, length: Int64?, replay: StreamReplay, directory: String?, at location: PartLocation?
    ) {
        self.length = length
        self.location = location
        isReplayable = origin.isReplayable || replay == .fromCopy
        if replay == .fromCopy, case .single = origin {
            kind = .copied(CopiedStream(origin, directory: directory, at: location))
        } else {
            kind = .direct(origin)
        }
    }

    /// Creates the reader of one attempt. The stream is not started before the first read.
    func makeReader(disk: DiskAccess, wake: @escaping @Sendable () -> Void) throws(BodyError) -> any BodyReader {
        let slot = ChunkSlot(wake: wake)
        switch kind {
        case .direct(let origin):
            let pump = try origin.pump(at: location)
            return SequenceReader(length: length, slot: slot, at: location) {
                Task {
                    do {
                        try await pump { await slot.put($0) }
                        slot.end(nil)
                    } catch {
                        slot.end(error)
                    }
                }
            }
        case .copied(let stream):
            return CopiedStreamReader(stream, length: length, slot: slot, disk: disk, at: location, wake: wake)
        }
    }
}
