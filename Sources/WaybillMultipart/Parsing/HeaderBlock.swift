/// Collects the header lines of one part.
///
/// Stores the position searched so far, so that lines that arrive byte by byte cost no more than complete lines.
struct HeaderBlock {
    private var bytes: [UInt8] = []
    private var lineStart = 0
    private(set) var headers: [MultipartHeader] = []
    private(set) var disposition: HeaderParameters?
    private(set) var contentType: String?

    /// Consumes the input that belongs to the block.
    ///
    /// - Returns: The position after the blank line that ends the block, or `nil` if more input is needed.
    mutating func consume(
        _ input: Span<UInt8>, from start: Int, limits: MultipartLimits
    ) throws(BodyError) -> Int? {
        var position = start
        while let end = ByteSearch.find(byte: FormText.lineFeed, in: input, from: position) {
            // Check the size before copying, so that a line that is far too long is never copied.
            try checkSize(adding: end + 1 - position, isBlankLine: endsBlank(input, position, end), limits)
            append(input, position..<end + 1, limits)
            position = end + 1
            guard try finishLine(limits) else { continue }
            return position
        }
        let left = input.count - position
        let mayBeBlank = lineStart == bytes.count && left == 1 && input[position] == FormText.carriageReturn
        try checkSize(adding: left, isBlankLine: mayBeBlank, limits)
        append(input, position..<input.count, limits)
        return nil
    }

    /// Whether the line that ends at this line feed is blank.
    private func endsBlank(_ input: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        let pending = bytes.count - lineStart
        guard pending + end - start == 1 else { return false }
        return (pending == 1 ? bytes[lineStart] : input[start]) == FormText.carriageReturn
    }

    private func checkSize(adding count: Int, isBlankLine: Bool, _ limits: MultipartLimits) throws(BodyError) {
        guard !isBlankLine, count > 0, bytes.count + count > limits.headerBytes else { return }
        throw BodyError(.headerTooLarge, "The headers of a part exceed \(limits.headerBytes) bytes.")
    }

    private mutating func append(_ input: Span<UInt8>, _ range: Range<Int>, _ limits: MultipartLimits) {
        let count = bytes.count + range.count
        if count > bytes.capacity {
            // Double the capacity, as Array does, but never beyond the maximum: the limit and a blank line.
            bytes.reserveCapacity(max(count, min(2 * bytes.capacity, max(0, limits.headerBytes) &+ 2)))
        }
        unsafe input.extracting(range).withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
    }

    /// Processes the line that was just completed.
    ///
    /// - Returns: Whether it was the blank line.
    private mutating func finishLine(_ limits: MultipartLimits) throws(BodyError) -> Bool {
        let line = bytes[lineStart..<bytes.count - 1]
        guard line.last == FormText.carriageReturn else {
            throw Self.malformed("a line that ends in LF without CR", line)
        }
        let text = line.dropLast()
        guard !text.isEmpty else { return true }
        guard headers.count < limits.headerLines else {
            throw BodyError(.tooManyHeaderLines, "A part has more than \(limits.headerLines) header lines.")
        }
        try addHeader(text, limits)
        lineStart = bytes.count
        return false
    }

    private mutating func addHeader(_ line: ArraySlice<UInt8>, _ limits: MultipartLimits) throws(BodyError) {
        // Other control characters are accepted, because browsers send them unescaped in names.
        guard !line.contains(where: { $0 == 0 || $0 == FormText.carriageReturn }) else {
            throw Self.malformed("a NUL or a lone CR", line)
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
            line[..<colon].allSatisfy(FormText.isToken)
        else { throw Self.malformed("a line without a header name", line) }
        var value = line[(colon + 1)...].drop(while: FormText.isWhitespace)
        while let last = value.last, FormText.isWhitespace(last) { value.removeLast() }
        let name = String(decoding: line[..<colon], as: UTF8.self)
        headers.append(MultipartHeader(name: name, value: String(decoding: value, as: UTF8.self)))
        switch name.lowercased() {
        case "content-disposition":
            guard disposition == nil else { throw Self.duplicate("Content-Disposition") }
            disposition = try Self.disposition(value, limits)
        case "content-type":
            guard contentType == nil else { throw Self.duplicate("Content-Type") }
            contentType = headers.last?.value
        default: break
        }
    }

    private static func disposition(
        _ value: ArraySlice<UInt8>, _ limits: MultipartLimits
    ) throws(BodyError) -> HeaderParameters {
        guard let disposition = HeaderParameters(value) else {
            throw malformed("an invalid Content-Disposition", value)
        }
        guard disposition.parameters.count <= limits.parameters else {
            throw BodyError(.tooManyParameters, "A Content-Disposition has more than \(limits.parameters) parameters.")
        }
        return disposition
    }

    private static func malformed(_ what: String, _ line: ArraySlice<UInt8>) -> BodyError {
        let text = quoted(String(decoding: line.prefix(200), as: UTF8.self))
        return BodyError(.malformedHeader, "The headers of a part contain \(what): \(text).")
    }

    static func duplicate(_ what: String) -> BodyError {
        BodyError(.duplicateHeader, "A part has more than one \(what), which servers interpret differently.")
    }
}

extension HeaderBlock {
    /// Returns the head of the part from the complete block.
    func head() throws(BodyError) -> MultipartPartHead {
        guard let disposition, disposition.value == "form-data" else { throw Self.missingName() }
        guard let name = try unique("name", in: disposition) else { throw Self.missingName() }
        guard let text = String(validating: name, as: UTF8.self) else {
            throw BodyError(.malformedHeader, "The name of a part is not UTF-8.")
        }
        // Only `filename` counts: `filename*` is not allowed in a form (RFC 7578 section 4.2).
        let fileName = try unique("filename", in: disposition)
        return MultipartPartHead(
            name: text, fileName: fileName.map { String(decoding: $0, as: UTF8.self) }, contentType: contentType,
            headers: headers)
    }

    private func unique(_ name: String, in disposition: HeaderParameters) throws(BodyError) -> [UInt8]? {
        let found = disposition.parameters.filter { $0.name == name }
        guard found.count < 2 else { throw Self.duplicate(name) }
        return found.first?.value
    }

    private static func missingName() -> BodyError {
        BodyError(.missingName, "A part has no Content-Disposition: form-data header with a name.")
    }
}
