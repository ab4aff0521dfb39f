import HTTPTypes
import WaybillCore

/// Builds a response from the lines and bytes that libcurl provides. It does not call libcurl.
///
/// libcurl reports success for a response that is truncated within its head, but it never passes on the empty line that
/// ends the head. The head is therefore complete only with that line (RFC 9112 section 2.1).
struct ResponseAssembler {
    enum Failure: Error, Equatable {
        case headTooLarge
        case tooManyHeaderLines
        case bodyTooLarge
        case malformedStatusLine
        case malformedContentLength
        /// The bytes are not those of an HTTP/1 response.
        case notHTTP
        /// Fields that determine the end of the response are malformed or contradictory.
        case malformedFraming
        case malformedChunk
    }

    private let limits: TransferLimits
    private var pending = HTTPResponse(status: .init(code: 0))
    private var headBytes = 0
    private var headLines = 0
    /// Whether a status line was read, but not yet the empty line that ends the head. Another line that looks like a
    /// status line is a field then.
    private var isHeadOpen = false
    /// Whether a request was sent whose final head has not arrived. If not, a status line is a trailer.
    private var awaitsHead = true

    /// Whether the server sent `100 Continue`, or a 104 in its place.
    private(set) var sawContinue = false
    /// The heads with the status 104 that were not taken yet: the last two with a `Location`, or the last one with and
    /// the last one without. A server may send any number of them.
    private(set) var interimHeads: [HTTPResponse] = []

    /// The last complete head of a final response.
    private(set) var head: HTTPResponse?
    private(set) var body: [UInt8] = []

    /// The length that the last head announces, or `nil` if it has no `Content-Length`.
    private(set) var contentLength: Int64?

    /// The status of the last status line.
    var lastStatus: Int { pending.status.code }

    init(limits: TransferLimits) {
        self.limits = limits
    }

    /// Called when a request is about to be sent: the first one, or one that libcurl repeats after a challenge.
    mutating func requestWillBegin() { awaitsHead = true }

    /// Returns and removes the heads with the status 104.
    mutating func takeInterimHeads() -> [HTTPResponse] {
        defer { interimHeads.removeAll() }
        return interimHeads
    }

    /// Resets all state for the response to the repeated request.
    mutating func reset() {
        self = ResponseAssembler(limits: limits)
    }

    /// Processes one line of a head, including its line ending.
    ///
    /// - Returns: Whether the line completed the head of a final response.
    mutating func appendLine(_ line: Span<UInt8>) throws(Failure) -> Bool {
        let text = line.extracting(..<line.countWithoutLineEnd)
        if !isHeadOpen, awaitsHead, text.starts(with: "HTTP/") {
            try beginHead(text)
            headBytes = line.count
            return false
        }
        // The limits apply to the head and the trailers of a chunked body together.
        headBytes += line.count
        headLines += 1
        if headBytes > limits.responseHead.bytes { throw .headTooLarge }
        if text.count == 0, head == nil { return endHead() }
        if headLines > limits.responseHeadLines { throw .tooManyHeaderLines }
        if head == nil { try addField(text) }
        return false
    }

    /// Appends bytes of the body.
    mutating func appendBody(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        guard Int64(body.count) + Int64(bytes.count) <= limits.responseBody.bytes else { throw .bodyTooLarge }
        unsafe body.append(contentsOf: bytes)
    }

    private mutating func beginHead(_ line: Span<UInt8>) throws(Failure) {
        // HTTP-version SP 3DIGIT [SP reason]; libcurl has checked the version.
        guard let space = line.firstIndex(of: UInt8(ascii: " ")), line.count >= space + 4,
            line.count == space + 4 || line[space + 4] == UInt8(ascii: " ")
        else { throw .malformedStatusLine }
        var code = 0
        for index in space + 1..<space + 4 {
            guard (0x30...0x39).contains(line[index]) else { throw .malformedStatusLine }
            code = code * 10 + Int(line[index] - 0x30)
        }
        guard code >= 100 else { throw .malformedStatusLine }
        let reason = line.count > space + 5 ? line.extracting((space + 5)...).string : ""
        pending = HTTPResponse(status: .init(code: code, reasonPhrase: reason))
        headLines = 0
        contentLength = nil
        isHeadOpen = true
        head = nil
        body.removeAll()
    }

    private mutating func endHead() -> Bool {
        isHeadOpen = false
        guard pending.status.code >= 200 else {
            let isResumptionReport = pending.status.code == Self.uploadResumptionSupported
            if pending.status == .continue || isResumptionReport { sawContinue = true }
            if isResumptionReport { keepInterimHead() }
            return false
        }
        head = pending
        awaitsHead = false
        return true
    }

    /// The status 104, Upload Resumption Supported (draft-ietf-httpbis-resumable-upload).
    private static let uploadResumptionSupported = 104

    private mutating func keepInterimHead() {
        if let last = interimHeads.last, last.headerFields[.location] == nil { interimHeads.removeLast() }
        interimHeads.append(pending)
        if interimHeads.count > 2 { interimHeads.removeFirst() }
    }

    /// Adds a field. Ignores a line that is not a valid field, as libcurl does.
    private mutating func addField(_ line: Span<UInt8>) throws(Failure) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let name = HTTPField.Name(line.extracting(..<colon).string)
        else { return }
        let value = line.extracting((colon + 1)...).string
        let trimmed = value.trimmingHTTPWhitespace()
        if name == .contentLength { try addLength(trimmed) }
        guard HTTPField.isValidValue(trimmed) else { return }
        pending.headerFields.append(HTTPField(name: name, value: trimmed))
    }
}

extension ResponseAssembler {
    /// Validates and stores a Content-Length value. libcurl ignores a length beyond 63 bits, and uses the first of several. The
    /// end of the response is ambiguous then (RFC 9112 section 6.3).
    private mutating func addLength(_ value: String) throws(Failure) {
        for text in value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            let digits = String(Substring(text)).trimmingHTTPWhitespace()
            guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int64(digits),
                contentLength == nil || contentLength == length
            else { throw .malformedContentLength }
            contentLength = length
        }
    }
}

extension Span<UInt8> {
    fileprivate var string: String {
        unsafe withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    fileprivate var countWithoutLineEnd: Int {
        var end = count
        while end > 0, self[end - 1] == 0x0D || self[end - 1] == 0x0A { end -= 1 }
        return end
    }

    fileprivate func starts(with prefix: StaticString) -> Bool {
        guard count >= prefix.utf8CodeUnitCount else { return false }
        for index in 0..<prefix.utf8CodeUnitCount where unsafe self[index] != prefix.utf8Start[index] { return false }
        return true
    }

    func firstIndex(of byte: UInt8) -> Int? {
        for index in 0..<count where self[index] == byte { return index }
        return nil
    }
}

extension String {
    /// Returns the string without the optional whitespace around a field value (RFC 9110 section 5.5).
    fileprivate func trimmingHTTPWhitespace() -> String {
        let bytes = utf8
        guard let first = bytes.firstIndex(where: { $0 != 0x20 && $0 != 0x09 }),
            let last = bytes.lastIndex(where: { $0 != 0x20 && $0 != 0x09 })
        else { return "" }
        return String(self[first...last])
    }
}
