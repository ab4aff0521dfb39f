import WaybillCore

/// Reads a body as a real transport does: enforces the announced length, stops at the end, closes the reader once.
struct ScriptedFeed {
    enum Answer {
        case bytes([UInt8])
        case later
        case end
    }

    let length: Int64?
    private(set) var isAtEnd = false
    private var taken: Int64 = 0
    private var reader: (any BodyReader)?

    init(_ body: any UploadBody, wake: @escaping @Sendable () -> Void) throws {
        length = body.length
        reader = try body.makeReader(wake: wake)
    }

    mutating func close() {
        reader?.close()
        reader = nil
    }

    mutating func read(atMost count: Int) throws -> Answer {
        guard let reader, !isAtEnd else { return .end }
        let (answer, bytes) = try Self.read(reader, atMost: count)
        switch answer {
        case .later: return .later
        case .end:
            if let length, taken < length { throw BrokenPromise(length: length, isLonger: false) }
            isAtEnd = true
            return .end
        case .bytes:
            taken += Int64(bytes.count)
            if let length { try enforceLength(length, reader) }
            return .bytes(bytes)
        }
    }

    /// Delivers the last byte only if the reader has no more bytes, or does not know yet.
    private mutating func enforceLength(_ length: Int64, _ reader: any BodyReader) throws {
        if taken < length { return }
        guard taken == length else { throw BrokenPromise(length: length, isLonger: true) }
        isAtEnd = true
        if case .bytes = try Self.read(reader, atMost: 1).0 { throw BrokenPromise(length: length, isLonger: true) }
    }

    private static func read(_ reader: any BodyReader, atMost count: Int) throws -> (BodyRead, [UInt8]) {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { unsafe room.deallocate() }
        var output = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        let answer = try reader.read(into: &output)
        let filled = unsafe output.finalize(for: room)
        return (answer, unsafe Array(room[..<filled]))
    }

    /// The error for a reader that yields more or fewer bytes than its body announced.
    struct BrokenPromise: Error, CustomStringConvertible {
        let length: Int64
        let isLonger: Bool

        var description: String {
            "The body yielded \(isLonger ? "more" : "fewer") than the \(length) bytes that it declared."
        }
    }
}
