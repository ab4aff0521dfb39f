import WaybillCore

/// What stands between a body's reader and libcurl's buffer: it counts, and it keeps the promised length.
///
/// libcurl 7.88 does not police the length itself: a longer source is sent beyond Content-Length and poisons the
/// connection, and a shorter one makes it wait for ever. So both end here, before a wrong byte leaves.
struct BodyFeed {
    /// What libcurl is to be answered.
    enum Answer: Equatable {
        case bytes(Int)
        case pause
        case abort
    }

    let length: Int64?
    private(set) var handedOver: Int64 = 0
    /// How many of these went past libcurl.
    private(set) var sentDirectly: Int64 = 0
    /// Whether the reader answered *later* and nobody has asked it since.
    private(set) var isWaiting = false
    /// Why the feed aborted.
    private(set) var failure: (any Error)?
    private(set) var isAtEnd = false
    private var reader: (any BodyReader)?
    private var sender: (any FileSendingReader)?

    init(_ body: any UploadBody, wake: @escaping @Sendable () -> Void) throws {
        length = body.length
        reader = try body.makeReader(wake: wake)
    }

    mutating func close() {
        reader?.close()
        reader = nil
        sender = nil
    }

    /// Has the reader send by itself from now on, if it is one that can.
    mutating func allowSending() {
        sender = reader as? any FileSendingReader
    }

    /// Has the reader send what comes next into the socket, as much as that takes and never the last byte.
    ///
    /// - Returns: How many bytes, 0 when the socket takes none now, or `nil` when what comes next has to be read.
    mutating func send(upTo most: Int, into socket: Int32) -> Int? {
        guard let sender, let length, !isAtEnd else { return nil }
        let most = Int(min(Int64(most), length - handedOver - 1))
        var sent = 0
        while sent < most {
            let answer = sender.send(upTo: most - sent, into: socket)
            guard let count = answer, count > 0 else {
                if sent == 0 { return answer }
                break
            }
            sent += count
        }
        handedOver += Int64(sent)
        sentDirectly += Int64(sent)
        return sent > 0 ? sent : nil
    }

    /// Fills libcurl's buffer.
    mutating func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Answer {
        isWaiting = false
        guard let reader, !isAtEnd else { return .bytes(0) }
        if handedOver == length { return finish() }
        var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
        do {
            let answer = try reader.read(into: &output)
            let count = unsafe output.finalize(for: buffer)
            return try take(answer, count: count, from: reader)
        } catch {
            failure = error
            return .abort
        }
    }

    private mutating func take(_ answer: BodyRead, count: Int, from reader: any BodyReader) throws -> Answer {
        switch answer {
        case .bytes:
            handedOver += Int64(count)
            guard let length else { return .bytes(count) }
            if handedOver > length { throw BodyLengthError(promised: length, isLonger: true) }
            // The last byte is held back until the reader has said that nothing follows.
            if handedOver == length { try confirmEnd(of: reader, length: length) }
            return .bytes(count)
        case .later:
            isWaiting = true
            return .pause
        case .end:
            return finish()
        }
    }

    private mutating func finish() -> Answer {
        if let length, handedOver < length {
            failure = BodyLengthError(promised: length, isLonger: false)
            return .abort
        }
        isAtEnd = true
        return .bytes(0)
    }

    private mutating func confirmEnd(of reader: any BodyReader, length: Int64) throws {
        let more = try unsafe withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { scratch in
            var output = unsafe OutputRawSpan(buffer: scratch, initializedCount: 0)
            let answer = try reader.read(into: &output)
            _ = unsafe output.finalize(for: scratch)
            return answer
        }
        switch more {
        case .bytes: throw BodyLengthError(promised: length, isLonger: true)
        case .end: isAtEnd = true
        case .later: break
        }
    }
}

/// A reader that broke its body's promise of length.
struct BodyLengthError: Error, CustomStringConvertible {
    let promised: Int64
    let isLonger: Bool

    var description: String {
        "the body yielded \(isLonger ? "more" : "fewer") than the \(promised) bytes that it announced"
    }
}
