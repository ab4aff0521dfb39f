import WaybillCore

/// Reads a body as a real transport does: enforces the announced length, stops at the end, closes the reader once.
struct ScriptedFeed {
    enum ReadResult {
        case bytes([UInt8])
        case later
        case end
    }

    let length: Int64?
    private(set) var isAtEnd = false
    private var received: Int64 = 0
    private var reader: (any BodyReader)?

    init(_ body: any UploadBody, wake: @escaping @Sendable () -> Void) throws {
        length = body.length
        reader = try body.makeReader(wake: wake)
    }

    mutating func close() {
        reader?.close()
        reader = nil
    }

    mutating func read(atMost count: Int) throws -> ReadResult {
        guard let reader, !isAtEnd else { return .end }
        let (result, bytes) = try Self.read(reader, atMost: count)
        switch result {
        case .later: return .later
        case .end:
            if let length, received < length { throw LengthError(length: length, isLonger: false) }
            isAtEnd = true
            return .end
        case .bytes:
            received += Int64(bytes.count)
            if let length { try enforceLength(length, reader) }
            return .bytes(bytes)
        }
    }

    /// Delivers the last byte only if the reader has no more bytes, or does not know yet.
    private mutating func enforceLength(_ length: Int64, _ reader: any BodyReader) throws {
        if received < length { return }
        guard received == length else { throw LengthError(length: length, isLonger: true) }
        isAtEnd = true
        if case .bytes = try Self.read(reader, atMost: 1).0 { throw LengthError(length: length, isLonger: true) }
    }

    private static func read(_ reader: any BodyReader, atMost count: Int) throws -> (BodyRead, [UInt8]) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { unsafe buffer.deallocate() }
        var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
        let result = try reader.read(into: &output)
        let filled = unsafe output.finalize(for: buffer)
        return (result, unsafe Array(buffer[..<filled]))
    }

    /// The error for a reader that yields more or fewer bytes than its body announced.
    struct LengthError: Error, CustomStringConvertible {
        let length: Int64
        let isLonger: Bool

        var description: String {
            "The body yielded \(isLonger ? "more" : "fewer") than the \(length) bytes that it declared."
        }
    }
}
