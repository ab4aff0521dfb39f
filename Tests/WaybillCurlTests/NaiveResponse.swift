// A second implementation, to compare with. The fuzzer links to this file, too.

import Glibc
import WaybillCore

#if !WAYBILL_FUZZ
    @testable import WaybillCurl
#endif

/// Reads a whole response with the rules of RFC 9112 and the decisions of ``ResponseParser``. It keeps all lines of
/// a head and evaluates them again for each field that matters, which is slow but simple.
struct NaiveResponse {
    typealias Failure = ResponseAssembler.Failure

    /// A line, and its bytes without the line ending.
    private struct Line {
        var size: Int
        var text: ArraySlice<UInt8>
        var endsWithCRLF: Bool
        /// The lowercased text before the colon; empty without a colon.
        var name = ""
        /// The name without whitespace around it.
        var bareName = ""
        /// The bytes after the colon.
        var value: ArraySlice<UInt8> = []

        var isFolded: Bool { text.first.map(isSpace) ?? false }

        init(_ line: ArraySlice<UInt8>) {
            size = line.count
            endsWithCRLF = line.dropLast().last == 13
            text = line.dropLast(endsWithCRLF ? 2 : 1)
            guard let colon = firstIndex(of: 0x3A, in: text) else { return }
            name = lowercased(text[..<colon])
            bareName = lowercased(trimmed(text[..<colon]))
            value = text[(colon + 1)...]
        }
    }

    /// The part of the input that has not been read.
    private var rest: ArraySlice<UInt8>
    private let options: ResponseOptions
    private var record = ResponseRecord()

    static func record(of input: [UInt8], _ options: ResponseOptions) -> ResponseRecord {
        var reader = NaiveResponse(rest: input[...], options: options)
        do throws(Failure) {
            try reader.read()
            return reader.record
        } catch {
            var record = ResponseRecord()
            record.failure = error
            return record
        }
    }

    private mutating func read() throws(Failure) {
        var lines: [Line]
        var code: Int
        repeat {
            record.isUntouched = rest.isEmpty
            guard let head = try readHead() else { return }
            lines = head
            code = Int(String(decoding: lines[0].text.dropFirst(9).prefix(3), as: UTF8.self)) ?? 0
            if code == 101 { throw .malformedFraming }
            if code == 100 || code == 104 { record.sawContinue = true }
        } while code < 200
        record.status = code
        record.fields = lines.dropFirst().compactMap(Self.field)
        try readBody(code, lines)
    }

    // MARK: - Head

    /// Reads the lines up to the empty one. Returns `nil` if that has not arrived.
    private mutating func readHead() throws(Failure) -> [Line]? {
        var lines: [Line] = []
        repeat {
            if lines.isEmpty, !["HTTP/1.0 ", "HTTP/1.1 "].contains(where: { isPrefix(of: Array($0.utf8)) }) {
                throw .notHTTP
            }
            let control = lines.isEmpty ? Failure.malformedStatusLine : .malformedFraming
            guard let line = try nextLine(atMost: headLimit, .headTooLarge, control) else { return nil }
            lines.append(line)
            if lines.count == 1 {
                try Self.checkStatusLine(line.text)
                record.version = String(decoding: line.text.prefix(8), as: UTF8.self)
                continue
            }
            try Self.checkFraming(line, after: lines[lines.count - 2], in: lines)
            if Self.size(lines) > headLimit { throw .headTooLarge }
            if line.text.isEmpty { return lines }
            if lines.count - 1 > options.limits.responseHeadLines { throw .tooManyHeaderLines }
            if line.name == "content-length" { try Self.checkLengths(lines) }
        } while true
    }

    private static func checkStatusLine(_ text: ArraySlice<UInt8>) throws(Failure) {
        let code = text.dropFirst(9).prefix(3)
        let isNumber = code.count == 3 && code.allSatisfy { isDigit($0) } && code.first != 0x30
        let separator = text.dropFirst(12).first ?? 0x20
        guard isNumber, separator == 0x20 else { throw .malformedStatusLine }
    }

    private static func checkFraming(_ line: Line, after previous: Line, in lines: [Line]) throws(Failure) {
        let names = ["content-length", "transfer-encoding", "connection"]
        if line.isFolded, names.prefix(2).contains(previous.name) { throw .malformedFraming }
        if !line.isFolded, line.name != line.bareName, names.contains(line.bareName) { throw .malformedFraming }
        guard line.name == "transfer-encoding" else { return }
        let codings = items("transfer-encoding", lines).filter { !$0.isEmpty }
        let rest = Array(codings.drop { $0 == "identity" })
        guard rest.isEmpty || rest == ["chunked"] else { throw .malformedFraming }
    }

    private static func checkLengths(_ lines: [Line]) throws(Failure) {
        let texts = items("content-length", lines)
        let lengths = texts.map { $0.utf8.allSatisfy(isDigit) ? Int64($0) : nil }
        if lengths.contains(nil) || Set(lengths).count > 1 { throw .malformedContentLength }
    }

    /// Returns a field as text; `nil` for a line that is ignored.
    private static func field(_ line: Line) -> String? {
        let name = line.text.prefix { $0 != 0x3A }
        let symbols = Array("!#$%&'*+-.^_`|~".utf8)
        let isToken = name.allSatisfy { isDigit($0) || (0x61...0x7A).contains($0 | 0x20) || symbols.contains($0) }
        let value = trimmed(line.value)
        guard !line.name.isEmpty, isToken, value.allSatisfy({ $0 == 9 || $0 >= 32 && $0 != 127 }) else { return nil }
        return String(decoding: name, as: UTF8.self) + ": " + String(decoding: value, as: UTF8.self)
    }

    // MARK: - Body

    private mutating func readBody(_ code: Int, _ lines: [Line]) throws(Failure) {
        let lengths = Self.items("content-length", lines)
        let isChunked = Self.items("transfer-encoding", lines).contains("chunked")
        var endsWithConnection = false
        if options.isToHEAD || code == 204 || code == 304 {
            record.isComplete = true
        } else if isChunked {
            record.isComplete = try readChunks(lines)
        } else if let length = lengths.first.flatMap({ Int64($0) }) {
            record.isComplete = try take(length)
        } else {
            endsWithConnection = true
            _ = try take(.max)
        }
        record.isCompleteAtEnd = record.isComplete || endsWithConnection
        record.hasExcess = record.isComplete && !rest.isEmpty

        let hasEncoding = lines.contains { $0.name == "transfer-encoding" }
        let connection = Self.items("connection", lines)
        let isFolded = zip(lines, lines.dropFirst()).contains { field, next in
            field.name == "connection" && next.isFolded
        }
        let announcesBody = isChunked || lengths.contains { Int64($0) != 0 }
        let persists = record.version == "HTTP/1.1" || connection.contains("keep-alive") && !hasEncoding
        record.allowsReuse =
            record.isComplete && !record.hasExcess && persists && !connection.contains("close") && !isFolded
            && !(hasEncoding && !lengths.isEmpty) && !(code == 204 && announcesBody)
    }

    /// Moves bytes to the body, and returns whether all of them have arrived.
    private mutating func take(_ count: Int64) throws(Failure) -> Bool {
        let available = rest.prefix(Int(count))
        if Int64(record.body.count + available.count) > options.limits.responseBody.bytes { throw .bodyTooLarge }
        record.body += available
        rest = rest.dropFirst(available.count)
        return available.count == count
    }

    private mutating func readChunks(_ lines: [Line]) throws(Failure) -> Bool {
        while let line = try nextLine(atMost: 4_096, .malformedChunk, .malformedChunk) {
            guard line.endsWithCRLF else { throw .malformedChunk }
            let hex = line.text.prefix { $0 < 0x80 && Character(Unicode.Scalar($0)).isHexDigit }
            let number = hex.isEmpty ? nil : UInt64(String(decoding: hex, as: UTF8.self), radix: 16)
            let next = line.text[hex.endIndex...].drop(while: isSpace).first
            guard let size = number, size < 1 << 62, next == nil || next == 0x3B else { throw .malformedChunk }
            if size == 0 { return try readTrailers(after: lines) }
            guard try take(Int64(size)) else { return false }
            guard isPrefix(of: [13, 10]) else { throw .malformedChunk }
            guard rest.count >= 2 else { return false }
            rest = rest.dropFirst(2)
        }
        return false
    }

    private mutating func readTrailers(after head: [Line]) throws(Failure) -> Bool {
        var lines = head
        while let line = try nextLine(atMost: headLimit, .headTooLarge, .malformedChunk) {
            if line.text.isEmpty { return true }
            lines.append(line)
            if Self.size(lines) > headLimit { throw .headTooLarge }
            // The status line does not count, but the empty line does.
            if lines.count - 1 > options.limits.responseHeadLines { throw .tooManyHeaderLines }
        }
        return false
    }

    // MARK: - Lines and items

    private var headLimit: Int { Int(options.limits.responseHead.bytes) }

    private func isPrefix(of text: [UInt8]) -> Bool { rest.prefix(text.count).elementsEqual(text.prefix(rest.count)) }

    /// Reads a line without NUL and without CR except before LF. Returns `nil` if its end has not arrived.
    private mutating func nextLine(
        atMost limit: Int, _ tooLong: Failure, _ control: Failure
    ) throws(Failure) -> Line? {
        guard let end = firstIndex(of: 10, in: rest) else {
            if rest.count > limit { throw tooLong }
            return nil
        }
        let line = Line(rest[...end])
        if line.size > limit { throw tooLong }
        if firstIndex(of: 0, in: line.text) ?? firstIndex(of: 13, in: line.text) != nil { throw control }
        rest = rest[(end + 1)...]
        return line
    }

    private static func size(_ lines: [Line]) -> Int { lines.reduce(0) { $0 + $1.size } }

    /// Returns the items of all fields of a name, in their order.
    private static func items(_ name: String, _ lines: [Line]) -> [String] {
        lines.dropFirst().filter { $0.name == name }.flatMap { line in
            line.value.split(separator: 0x2C, omittingEmptySubsequences: false).map { lowercased(trimmed($0)) }
        }
    }
}

private func lowercased(_ text: ArraySlice<UInt8>) -> String {
    String(decoding: text.map { (0x41...0x5A).contains($0) ? $0 + 32 : $0 }, as: UTF8.self)
}

private func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text.drop(while: isSpace)
    while text.last.map(isSpace) ?? false { text.removeLast() }
    return text
}

/// Returns the position of a byte. The method of the standard library is slow in a debug build.
private func firstIndex(of byte: UInt8, in text: ArraySlice<UInt8>) -> Int? {
    let offset = unsafe text.withUnsafeBytes { bytes -> Int? in
        guard let start = bytes.baseAddress, let found = unsafe memchr(start, CInt(byte), bytes.count) else {
            return nil
        }
        return unsafe UnsafeRawPointer(found) - start
    }
    return offset.map { text.startIndex + $0 }
}

private func isSpace(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }
private func isDigit(_ byte: UInt8) -> Bool { byte >= 48 && byte <= 57 }
