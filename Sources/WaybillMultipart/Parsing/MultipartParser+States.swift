import WaybillCore

// The states of the parser, in the order in which a body passes through them. Each consumes its part of the input and
// returns the position at which the next state continues.

extension MultipartParser {
    mutating func parse(_ input: Span<UInt8>, to handler: inout some MultipartHandler) throws {
        if input.count < Self.shortInputLimit, try consumeShortInput(input, to: &handler) { return }
        // Bytes within the limit are parsed first, so that the error occurs at the same byte however the body is split.
        let end = Int(clamping: min(Int64(input.count), totalLimit - totalBytes))
        totalBytes += Int64(end)
        let bytes = input.extracting(..<end)
        var position = 0
        while position < end {
            switch state {
            case .preamble: position = try skipPreamble(bytes, from: position, to: &handler)
            case .delimiterLine(let isFirst):
                position = try readDelimiterLine(bytes, from: position, isFirst: isFirst, to: &handler)
            case .header: position = try readHeader(bytes, from: position, to: &handler)
            case .content: position = try readContent(bytes, from: position, to: &handler)
            case .closingLine: position = try readClosingLine(bytes, from: position)
            case .epilogue: position = end
            }
        }
        guard end == input.count else {
            throw BodyError(.bodyTooLarge, "The body exceeds \(limits.total?.bytes ?? 0) bytes.")
        }
    }

    private mutating func skipPreamble(
        _ input: Span<UInt8>, from start: Int, to handler: inout some MultipartHandler
    ) throws -> Int {
        try search(input, from: start, isFirst: true, to: &handler)
    }

    private mutating func readContent(
        _ input: Span<UInt8>, from start: Int, to handler: inout some MultipartHandler
    ) throws -> Int {
        try search(input, from: start, isFirst: false, to: &handler)
    }

    /// Searches for the next delimiter; the bytes before it are content.
    private mutating func search(
        _ input: Span<UInt8>, from start: Int, isFirst: Bool, to handler: inout some MultipartHandler
    ) throws -> Int {
        if matched > 0 {
            guard let position = try continueMatch(input, from: start, to: &handler) else { return input.count }
            if matched == delimiter.count {
                state = .delimiterLine(isFirst: isFirst)
                return position
            }
        }
        // Also checks the bytes after a candidate, to avoid the slow path for content full of near-delimiters.
        if input.count - start >= delimiter.count,
            let found = ByteSearch.find(
                delimiter: delimiter, in: input, from: start, padding: max(0, limits.paddingBytes))
        {
            try emit(input.extracting(start..<found), to: &handler)
            matched = delimiter.count
            virtualMatched = 0
            state = .delimiterLine(isFirst: isFirst)
            return found + delimiter.count
        }
        let kept = beginningOfDelimiter(at: input, from: start)
        try emit(input.extracting(start..<input.count - kept), to: &handler)
        matched = kept
        virtualMatched = 0
        return input.count
    }

    /// Continues a delimiter that began in an earlier input.
    ///
    /// - Returns: The position after it; `start` if it was not a delimiter and its beginning was emitted (`matched` is
    ///   then 0); `nil` if the input is used up and it may still be one.
    private mutating func continueMatch(
        _ input: Span<UInt8>, from start: Int, to handler: inout some MultipartHandler
    ) throws -> Int? {
        let count = min(input.count - start, delimiter.count - matched)
        for index in 0..<count where input[start + index] != delimiter[matched + index] {
            try emitMatched(to: &handler)
            return start
        }
        matched += count
        return matched == delimiter.count ? start + count : nil
    }

    /// Returns the number of bytes at the end of the input that may begin a delimiter. Only the first byte of a
    /// delimiter is a CR, so the last CR decides.
    private func beginningOfDelimiter(at input: Span<UInt8>, from start: Int) -> Int {
        let first = max(start, input.count - (delimiter.count - 1))
        if input.count - first == 1 { return input[first] == FormText.carriageReturn ? 1 : 0 }
        guard let carriageReturn = ByteSearch.findLast(byte: FormText.carriageReturn, in: input, from: first) else {
            return 0
        }
        let count = input.count - carriageReturn
        for index in 0..<count where input[carriageReturn + index] != delimiter[index] { return 0 }
        return count
    }

    /// Reads the rest of a boundary's line: two dashes close the form, whitespace and CRLF begin a part, and anything
    /// else means that the whole line was content.
    private mutating func readDelimiterLine(
        _ input: Span<UInt8>, from start: Int, isFirst: Bool, to handler: inout some MultipartHandler
    ) throws -> Int {
        var position = start
        while position < input.count {
            let byte = input[position]
            switch (byte, tail.last) {
            case (UInt8(ascii: "-"), nil):
                tail.append(byte)
            case (UInt8(ascii: "-"), UInt8(ascii: "-")):
                guard preambleCount == 0 || !isFirst else {
                    // A byte order mark or a line feed before the first boundary would hide the parts of the form.
                    throw BodyError(
                        .malformedDelimiter,
                        "The first boundary line closes the form, although \(preambleCount) bytes precede it."
                    )
                }
                try endPart(isFirst: isFirst, to: &handler)
                state = .closingLine
                return position + 1
            case (FormText.lineFeed, FormText.carriageReturn):
                try endPart(isFirst: isFirst, to: &handler)
                try beginHeader()
                return position + 1
            case (FormText.carriageReturn, let last) where last.map(FormText.isWhitespace) ?? true:
                tail.append(byte)
            case (_, let last) where FormText.isWhitespace(byte) && (last.map(FormText.isWhitespace) ?? true):
                try addPadding(byte)
            default:
                try emitMatched(to: &handler)
                try emitTail(to: &handler)
                state = isFirst ? .preamble : .content
                return position
            }
            position += 1
        }
        return position
    }

    private mutating func readHeader(
        _ input: Span<UInt8>, from start: Int, to handler: inout some MultipartHandler
    ) throws -> Int {
        guard let end = try header.consume(input, from: start, limits: limits) else { return input.count }
        let head = try header.head()
        isField = head.fileName == nil
        partBytes = 0
        // The CRLF of the blank line may begin the delimiter of a part without content.
        matched = 2
        virtualMatched = 2
        state = .content
        try handler.partBegan(head)
        return end
    }

    private mutating func readClosingLine(_ input: Span<UInt8>, from start: Int) throws -> Int {
        var position = start
        while position < input.count {
            let byte = input[position]
            position += 1
            switch (byte, tail.last) {
            case (FormText.lineFeed, FormText.carriageReturn):
                state = .epilogue
                return position
            case (FormText.carriageReturn, let last) where last.map(FormText.isWhitespace) ?? true:
                tail.append(byte)
            case (_, let last) where FormText.isWhitespace(byte) && (last.map(FormText.isWhitespace) ?? true):
                try addPadding(byte)
            default:
                throw BodyError(.malformedDelimiter, "Unexpected characters follow the closing boundary on its line.")
            }
        }
        return position
    }
}

// Methods shared by several states.
extension MultipartParser {
    private mutating func beginHeader() throws {
        partCount += 1
        guard partCount <= limits.parts else {
            throw BodyError(.tooManyParts, "The form has more than \(limits.parts) parts.")
        }
        header = HeaderBlock()
        state = .header
    }

    private mutating func endPart(isFirst: Bool, to handler: inout some MultipartHandler) throws {
        tail.removeAll(keepingCapacity: true)
        matched = 0
        if !isFirst { try handler.partEnded() }
    }

    private mutating func addPadding(_ byte: UInt8) throws {
        guard tail.count < limits.paddingBytes else {
            throw BodyError(.paddingTooLong, "More than \(limits.paddingBytes) bytes of whitespace follow a boundary.")
        }
        tail.append(byte)
    }

    /// Emits the beginning of a delimiter that turned out not to be one.
    mutating func emitMatched(to handler: inout some MultipartHandler) throws {
        let bytes = delimiter
        let range = virtualMatched..<max(virtualMatched, matched)
        matched = 0
        virtualMatched = 0
        try emit(bytes.span.extracting(range), to: &handler)
    }

    private mutating func emitTail(to handler: inout some MultipartHandler) throws {
        // Swap the array out and back: a copy would cost an allocation each time.
        var bytes: [UInt8] = []
        swap(&bytes, &tail)
        defer {
            bytes.removeAll(keepingCapacity: true)
            swap(&bytes, &tail)
        }
        try emit(bytes.span, to: &handler)
    }

    /// Passes content to the handler, or counts bytes of the preamble.
    mutating func emit(_ bytes: Span<UInt8>, to handler: inout some MultipartHandler) throws {
        guard !bytes.isEmpty else { return }
        if partCount == 0 {
            preambleCount += bytes.count
            guard preambleCount <= limits.preambleBytes else {
                throw BodyError(
                    .preambleTooLarge, "More than \(limits.preambleBytes) bytes precede the first boundary.")
            }
            return
        }
        guard isField else { return try handler.partData(bytes) }
        let count = Int(clamping: min(Int64(bytes.count), max(0, limits.fieldBytes.bytes - partBytes)))
        partBytes += Int64(count)
        if count > 0 { try handler.partData(bytes.extracting(..<count)) }
        guard count == bytes.count else {
            throw BodyError(.fieldTooLarge, "A field without a file name exceeds \(limits.fieldBytes.bytes) bytes.")
        }
    }
}
