/// Reads the body of a request from its connection and removes the framing (RFC 9112, sections 6 and 7).
struct BodyDecoder {
    enum Piece {
        case bytes([UInt8])
        /// The body is complete. Contains the trailer lines.
        case end(trailers: [String])
        case peerEnded(ConnectionRecord.PeerEnd)
        case stopped
        case malformed(String)
    }

    private enum State {
        case length(Int)
        case chunkSize
        case chunkData(Int)
        case chunkEnd
        case trailers([String])
        case end([String])
    }

    private var state: State

    /// - Returns: `nil` if the framing of the request is ambiguous.
    init?(_ request: RecordedRequest) {
        let codings = request.values(of: "Transfer-Encoding")
        let lengths = request.values(of: "Content-Length")
        if !codings.isEmpty {
            guard codings == ["chunked"], lengths.isEmpty else { return nil }
            state = .chunkSize
        } else if let text = lengths.first {
            guard lengths.count == 1, let length = Int(text), length >= 0 else { return nil }
            state = .length(length)
        } else {
            state = .end([])
        }
    }

    /// Whether the whole body has been read.
    var isAtEnd: Bool {
        switch state {
        case .end, .length(0): true
        default: false
        }
    }

    /// Reads at most `limit` bytes of content.
    mutating func next(limit: Int, from socket: ServerSocket) -> Piece {
        while true {
            switch state {
            case .length(0): state = .end([])
            case .length(let left): return content(left, limit, from: socket) { .length($0) }
            case .chunkData(0): state = .chunkEnd
            case .chunkData(let left): return content(left, limit, from: socket) { .chunkData($0) }
            case .end(let trailers): return .end(trailers: trailers)
            case .chunkSize, .chunkEnd, .trailers:
                if let problem = framingLine(from: socket) { return problem }
            }
        }
    }

    private mutating func content(
        _ left: Int, _ limit: Int, from socket: ServerSocket, _ rest: (Int) -> State
    ) -> Piece {
        switch socket.receive(limit: min(left, limit)) {
        case .bytes(let bytes):
            state = rest(left - bytes.count)
            return .bytes(bytes)
        case .peerEnded(let end): return .peerEnded(end)
        case .stopped: return .stopped
        }
    }

    private mutating func framingLine(from socket: ServerSocket) -> Piece? {
        switch socket.receive(through: [13, 10], limit: 4_096) {
        case nil: return .malformed("a chunk line is too long")
        case .peerEnded(let end): return .peerEnded(end)
        case .stopped: return .stopped
        case .bytes(let bytes): return advance(String(decoding: bytes.dropLast(2), as: UTF8.self))
        }
    }

    private mutating func advance(_ line: String) -> Piece? {
        switch state {
        case .chunkSize:
            guard let size = Int(line.prefix { $0 != ";" }, radix: 16), size >= 0 else {
                return .malformed("not a chunk size: \(line)")
            }
            state = size == 0 ? .trailers([]) : .chunkData(size)
        case .chunkEnd:
            guard line.isEmpty else { return .malformed("a chunk is longer than it said") }
            state = .chunkSize
        case .trailers(let lines):
            state = line.isEmpty ? .end(lines) : .trailers(lines + [line])
        case .length, .chunkData, .end:
            break
        }
        return nil
    }
}
