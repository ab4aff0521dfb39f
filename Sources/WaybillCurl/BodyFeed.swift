import WaybillCore

/// Passes bytes from a body's reader to the transfer that sends them, counts them, and enforces the announced length.
///
/// A longer body would corrupt the connection, and the server would wait indefinitely for the rest of a shorter one.
/// Both fail here, before a wrong byte is sent. libcurl 7.88 does not enforce the length itself.
struct BodyFeed {
    /// The result of reading.
    enum ReadResult: Equatable {
        case bytes(Int)
        case pause
        case abort
    }

    let length: Int64?
    private(set) var bytesRead: Int64 = 0
    /// The number of these bytes that the reader has sent to the socket itself.
    private(set) var sentDirectly: Int64 = 0
    /// Whether the reader returned *later* and has not been read since.
    private(set) var isWaiting = false
    /// The reason why the feed aborted.
    private(set) var failure: (any Error)?
    private(set) var isAtEnd = false
    private var reader: (any BodyReader)?
    private var sender: (any FileSendingReader)?

    init(_ body: any UploadBody, wake: @escaping @Sendable () -> Void) throws {
        length = body.length
        reader = try body.makeReader(wake: wake)
    }

    /// Called when the reader has bytes again, so that it may be read.
    mutating func wake() { isWaiting = false }

    mutating func close() {
        reader?.close()
        reader = nil
        sender = nil
    }

    /// Allows the reader to send directly from now on, if it supports it.
    mutating func allowSending() {
        sender = reader as? any FileSendingReader
    }

    /// Sends the next bytes from the reader to the socket, as many as it accepts, but never the last byte.
    ///
    /// - Returns: The number of bytes sent, 0 if the socket accepts none now, or `nil` if they have to be read.
    mutating func send(upTo most: Int, into socket: Int32) -> Int? {
        guard let sender, let length, !isAtEnd else { return nil }
        let most = Int(min(Int64(most), length - bytesRead - 1))
        var sent = 0
        while sent < most {
            let result = sender.send(upTo: most - sent, into: socket)
            guard let count = result, count > 0 else {
                if sent == 0 { return result }
                break
            }
            sent += count
        }
        bytesRead += Int64(sent)
        sentDirectly += Int64(sent)
        return sent > 0 ? sent : nil
    }

    /// Reads the next bytes into a buffer.
    mutating func fill(_ buffer: UnsafeMutableRawBufferPointer) -> ReadResult {
        isWaiting = false
        guard let reader, !isAtEnd else { return .bytes(0) }
        if bytesRead == length { return finish() }
        var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
        do {
            let result = try reader.read(into: &output)
            let count = unsafe output.finalize(for: buffer)
            return try process(result, count: count, from: reader)
        } catch {
            failure = error
            return .abort
        }
    }

    private mutating func process(_ result: BodyRead, count: Int, from reader: any BodyReader) throws -> ReadResult {
        switch result {
        case .bytes:
            // A reader that breaks its contract would be read forever.
            guard count > 0 else { throw EmptyReadError() }
            bytesRead += Int64(count)
            guard let length else { return .bytes(count) }
            if bytesRead > length { throw BodyLengthError(promised: length, isLonger: true) }
            // Withhold the last byte until the reader has confirmed that nothing follows.
            if bytesRead == length { try confirmEnd(of: reader, length: length) }
            return .bytes(count)
        case .later:
            isWaiting = true
            return .pause
        case .end:
            return finish()
        }
    }

    private mutating func finish() -> ReadResult {
        if let length, bytesRead < length {
            failure = BodyLengthError(promised: length, isLonger: false)
            return .abort
        }
        isAtEnd = true
        return .bytes(0)
    }

    private mutating func confirmEnd(of reader: any BodyReader, length: Int64) throws {
        let more = try unsafe withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { scratch in
            var output = unsafe OutputRawSpan(buffer: scratch, initializedCount: 0)
            let result = try reader.read(into: &output)
            _ = unsafe output.finalize(for: scratch)
            return result
        }
        switch more {
        case .bytes: throw BodyLengthError(promised: length, isLonger: true)
        case .end: isAtEnd = true
        case .later: break
        }
    }
}

/// An error for a reader that reports bytes, but appended none.
struct EmptyReadError: Error, CustomStringConvertible {
    var description: String { "The body's reader reported bytes, but appended none." }
}

/// An error for a reader that yields more or fewer bytes than its body announced.
struct BodyLengthError: Error, CustomStringConvertible {
    let promised: Int64
    let isLonger: Bool

    var description: String {
        "The body yielded \(isLonger ? "more" : "fewer") bytes than the announced \(promised)."
    }
}
