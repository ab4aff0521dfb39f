import Glibc
import HTTPTypes
import WaybillCore

/// Finds the head, the body and the end of a response in the bytes of an HTTP/1.1 connection (RFC 9112). It has no side
/// effects.
///
/// It is strict where a lenient reader could take a different message for the response: a status line of another
/// protocol, conflicting lengths, transfer codings other than `chunked`, malformed chunks, bytes after the end.
/// ``ResponseAssembler`` collects the fields and enforces the limits.
struct ResponseParser {
    /// The next expected element.
    private enum State: Equatable {
        case statusLine
        case fields
        case body(remaining: Int64)
        case bodyUntilClose
        case chunkSize
        case chunk(remaining: Int64)
        case chunkEnd
        case trailers
        case complete
    }

    private(set) var assembler: ResponseAssembler
    private let isToHEAD: Bool
    private let maximumHeadSize: Int
    private var state = State.statusLine
    /// The beginning of a line whose end has not been received.
    private var partialLine: [UInt8] = []
    private var framing = ResponseFraming()

    /// Whether the response is complete.
    var isComplete: Bool { state == .complete }
    /// Whether no byte of a response was received since the last complete interim response.
    var isUntouched: Bool { state == .statusLine && partialLine.isEmpty }
    /// Whether bytes followed the end of the response.
    private(set) var hasExcess = false
    /// The number of bytes received.
    private(set) var byteCount: Int64 = 0
    /// Whether the connection may carry another request: the response is complete, its end was unambiguous, and the
    /// server did not announce that it closes the connection.
    var allowsReuse: Bool { isComplete && !hasExcess && framing.allowsReuse }
    /// Whether the response ends where the server closes the connection.
    var endsWithConnection: Bool { state == .bodyUntilClose }
    /// The HTTP version of the response, such as `HTTP/1.1`; `nil` before a status line arrived.
    var version: String? { framing.version.map { "HTTP/1.\($0)" } }

    /// The maximum length of a line with a chunk size and its extensions.
    private static let maximumChunkLine = 4_096

    /// - Parameters:
    ///   - limits: The limits of the head, with the trailers, and of the body.
    ///   - isToHEAD: Whether the request's method is HEAD, so that no body follows the head.
    init(limits: TransferLimits, isToHEAD: Bool = false) {
        assembler = ResponseAssembler(limits: limits)
        assembler.requestWillBegin()
        self.isToHEAD = isToHEAD
        maximumHeadSize = Int(clamping: limits.responseHead.bytes)
    }

    /// Processes received bytes.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(ResponseAssembler.Failure) {
        byteCount += Int64(bytes.count)
        var rest = unsafe bytes
        while unsafe !rest.isEmpty {
            let count = try unsafe receiveElement(rest)
            guard count > 0 else { return }
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Returns and removes the heads with the status 104, of which ``ResponseAssembler`` keeps at most two.
    mutating func takeInterimHeads() -> [HTTPResponse] { assembler.takeInterimHeads() }

    /// Processes the end of the connection.
    ///
    /// - Returns: Whether the response is complete.
    mutating func receiveEnd() -> Bool {
        if state == .bodyUntilClose { state = .complete }
        return isComplete
    }

    // MARK: - Elements

    /// Processes one line or piece of a body.
    ///
    /// - Returns: The number of processed bytes, or 0 if the response ended before them.
    private mutating func receiveElement(_ bytes: UnsafeRawBufferPointer) throws(ResponseAssembler.Failure) -> Int {
        switch state {
        case .statusLine, .fields, .chunkSize, .trailers, .chunkEnd: return try unsafe receiveLine(bytes)
        case .body(let remaining):
            let count = try unsafe receiveBody(bytes, atMost: remaining)
            state = remaining == Int64(count) ? .complete : .body(remaining: remaining - Int64(count))
            return count
        case .chunk(let remaining):
            let count = try unsafe receiveBody(bytes, atMost: remaining)
            state = remaining == Int64(count) ? .chunkEnd : .chunk(remaining: remaining - Int64(count))
            return count
        case .bodyUntilClose: return try unsafe receiveBody(bytes, atMost: .max)
        case .complete:
            hasExcess = true
            return 0
        }
    }

    private mutating func receiveBody(
        _ bytes: UnsafeRawBufferPointer, atMost remaining: Int64
    ) throws(ResponseAssembler.Failure) -> Int {
        let count = Int(min(Int64(bytes.count), remaining))
        try unsafe assembler.appendBody(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        return count
    }

    /// Processes bytes up to the next line feed.
    private mutating func receiveLine(_ bytes: UnsafeRawBufferPointer) throws(ResponseAssembler.Failure) -> Int {
        let end = unsafe memchr(bytes.baseAddress!, 0x0A, bytes.count)
        guard let end = unsafe end else {
            unsafe partialLine.append(contentsOf: bytes)
            try checkBeginning(of: partialLine.span)
            return bytes.count
        }
        let count = unsafe UnsafeRawPointer(end) - bytes.baseAddress! + 1
        if partialLine.isEmpty {
            try process(unsafe Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[..<count])))
        } else {
            unsafe partialLine.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            let line = partialLine
            partialLine.removeAll(keepingCapacity: true)
            try process(line.span)
        }
        return count
    }

    /// Checks a line, or its beginning: a server of another protocol may never send a line feed. A line that fails fails
    /// in the same way when only a part of it has arrived.
    private func checkBeginning(of line: Span<UInt8>) throws(ResponseAssembler.Failure) {
        switch state {
        case .statusLine:
            guard line.isPrefixCompatible(with: "HTTP/1.1 ") || line.isPrefixCompatible(with: "HTTP/1.0 ") else {
                throw .notHTTP
            }
            if line.count > maximumHeadSize { throw .headTooLarge }
        case .chunkSize: if line.count > Self.maximumChunkLine { throw .malformedChunk }
        case .chunkEnd: guard line.isPrefixCompatible(with: "\r\n") else { throw .malformedChunk }
        default: if line.count > maximumHeadSize { throw .headTooLarge }
        }
    }

    private mutating func process(_ line: Span<UInt8>) throws(ResponseAssembler.Failure) {
        try checkBeginning(of: line)
        let hasControl = line.hasNULOrBareCR
        switch state {
        case .statusLine:
            if hasControl { throw .malformedStatusLine }
            try processStatusLine(line)
        case .fields:
            if hasControl { throw .malformedFraming }
            try processField(line)
        case .chunkSize:
            if hasControl { throw .malformedChunk }
            let size = try Self.chunkSize(line)
            state = size == 0 ? .trailers : .chunk(remaining: size)
        case .chunkEnd: state = .chunkSize
        default:
            if hasControl { throw .malformedChunk }
            if line.isEmptyLine { state = .complete } else { _ = try assembler.appendLine(line) }
        }
    }

    // MARK: - Head

    private mutating func processStatusLine(_ line: Span<UInt8>) throws(ResponseAssembler.Failure) {
        framing = ResponseFraming()
        framing.version = line[7] - 0x30
        _ = try assembler.appendLine(line)
        state = .fields
    }

    private mutating func processField(_ line: Span<UInt8>) throws(ResponseAssembler.Failure) {
        try framing.add(line)
        guard try assembler.appendLine(line) else {
            // An interim response has ended.
            if line.isEmptyLine {
                if assembler.lastStatus == 101 { throw .malformedFraming }
                state = .statusLine
            }
            return
        }
        try beginBody()
    }

    /// Determines how the body ends (RFC 9112 section 6.3).
    private mutating func beginBody() throws(ResponseAssembler.Failure) {
        let code = assembler.head?.status.code ?? 0
        if isToHEAD || code == 204 || code == 304 {
            // A server that announces a body with 204 may send one: the next response would begin with it.
            if code == 204, framing.isChunked || assembler.contentLength ?? 0 > 0 { framing.isAmbiguous = true }
            state = .complete
        } else if framing.isChunked {
            state = .chunkSize
        } else if let length = assembler.contentLength {
            state = length == 0 ? .complete : .body(remaining: length)
        } else {
            framing.isAmbiguous = true
            state = .bodyUntilClose
        }
    }

    // MARK: - Chunks

    /// Parses a line with a chunk size (RFC 9112 section 7.1); extensions are ignored.
    private static func chunkSize(_ line: Span<UInt8>) throws(ResponseAssembler.Failure) -> Int64 {
        guard line.count > 2, line[line.count - 2] == 0x0D else { throw .malformedChunk }
        var size: Int64 = 0
        var index = 0
        while let digit = line[index].hexadecimalValue {
            guard size < 1 << 58 else { throw .malformedChunk }
            size = size << 4 | Int64(digit)
            index += 1
        }
        guard index > 0 else { throw .malformedChunk }
        while line[index] == 0x20 || line[index] == 0x09 { index += 1 }
        guard index == line.count - 2 || line[index] == UInt8(ascii: ";") else { throw .malformedChunk }
        return size
    }
}

/// The fields of a response head that determine its end and the reuse of its connection.
private struct ResponseFraming {
    /// The minor version of HTTP.
    var version: UInt8?
    var isChunked = false
    /// Whether only the end of the connection, or something else than the head, determines the end of the body.
    var isAmbiguous = false
    private var hasCodings = false
    private var hasLength = false
    private var closes = false
    private var keepsAlive = false
    /// The field that a folded line continues.
    private var lastField = Field.other

    private enum Field { case connection, contentLength, transferEncoding, other }

    /// A response with both a length and codings has an unambiguous end, but may be an attempt to smuggle another one
    /// (RFC 9112 section 6.3).
    var allowsReuse: Bool {
        !isAmbiguous && !closes && !(hasCodings && hasLength) && (version == 1 || keepsAlive && !hasCodings)
    }

    /// Evaluates a line of the head.
    mutating func add(_ line: Span<UInt8>) throws(ResponseAssembler.Failure) {
        guard line[0] != 0x20, line[0] != 0x09 else {
            // A folded line continues the previous field (RFC 9112 section 5.2). It may contain "close".
            switch lastField {
            case .contentLength, .transferEncoding: throw .malformedFraming
            case .connection: closes = true
            case .other: break
            }
            return
        }
        lastField = .other
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        var end = colon
        while end > 0, line[end - 1] == 0x20 || line[end - 1] == 0x09 { end -= 1 }
        lastField = Self.field(line.extracting(..<end))
        guard lastField != .other else { return }
        // "Content-Length : 5" is not this field, but other readers might take it for that.
        guard end == colon else { throw .malformedFraming }
        try evaluate(line.extracting((colon + 1)...).lowercasedItems)
    }

    private static func field(_ name: Span<UInt8>) -> Field {
        if name.isEqualIgnoringCase("content-length") { return .contentLength }
        if name.isEqualIgnoringCase("transfer-encoding") { return .transferEncoding }
        return name.isEqualIgnoringCase("connection") ? .connection : .other
    }

    private mutating func evaluate(_ items: [String]) throws(ResponseAssembler.Failure) {
        switch lastField {
        case .contentLength: hasLength = true
        case .connection:
            closes = closes || items.contains("close")
            keepsAlive = keepsAlive || items.contains("keep-alive")
        case .transferEncoding:
            hasCodings = true
            // No other coding was offered, and `chunked` must be the last.
            for item in items where !item.isEmpty {
                guard !isChunked, item == "chunked" || item == "identity" else { throw .malformedFraming }
                isChunked = item == "chunked"
            }
        case .other: break
        }
    }
}

extension UInt8 {
    fileprivate var hexadecimalValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46, 0x61...0x66: (self | 0x20) - 0x61 + 10
        default: nil
        }
    }
}

extension Span<UInt8> {
    /// Whether the line consists only of its line ending.
    fileprivate var isEmptyLine: Bool { count == 1 || count == 2 && self[0] == 0x0D }

    /// Whether a line contains NUL, or CR at another position than before its line feed.
    fileprivate var hasNULOrBareCR: Bool {
        for index in 0..<count - 1 where self[index] == 0x00 || self[index] == 0x0D && index < count - 2 { return true }
        return false
    }

    /// Whether the shorter of the two is a prefix of the other.
    fileprivate func isPrefixCompatible(with text: StaticString) -> Bool {
        for index in 0..<Swift.min(count, text.utf8CodeUnitCount) where unsafe self[index] != text.utf8Start[index] {
            return false
        }
        return true
    }

    fileprivate func isEqualIgnoringCase(_ lowercased: StaticString) -> Bool {
        guard count == lowercased.utf8CodeUnitCount else { return false }
        for index in 0..<count {
            let byte = self[index]
            let lower = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
            if unsafe lower != lowercased.utf8Start[index] { return false }
        }
        return true
    }

    /// The items of a list, without the whitespace around them. Only ASCII letters are lowercased: Unicode has other
    /// characters whose lowercase is in ASCII.
    fileprivate var lowercasedItems: [String] {
        var items: [[UInt8]] = [[]]
        for index in 0..<count {
            switch self[index] {
            case 0x2C: items.append([])
            case 0x41...0x5A: items[items.count - 1].append(self[index] | 0x20)
            default: items[items.count - 1].append(self[index])
            }
        }
        let spaces: [UInt8] = [0x20, 0x09, 0x0D, 0x0A]
        return items.map { item in
            let end = (item.lastIndex { !spaces.contains($0) } ?? -1) + 1
            return String(decoding: item[..<end].drop { spaces.contains($0) }, as: UTF8.self)
        }
    }
}
