// A fast path for bodies that arrive byte by byte, which the general state machine handles at a higher cost.

extension MultipartParser {
    /// Inputs shorter than this are not worth a search.
    static let shortInputLimit = 8

    /// Consumes a short input that is only content, or only the next bytes of a possible delimiter: nearly every input
    /// of a body that arrives byte by byte.
    ///
    /// - Returns: `false`, without consuming anything, if the input is anything else.
    mutating func consumeShortInput(_ input: Span<UInt8>, to handler: inout some MultipartHandler) throws -> Bool {
        guard case .content = state, Int64(input.count) <= totalLimit - totalBytes else { return false }
        if input.count == 1 { return try consumeByte(input, to: &handler) }
        if matched == 0 {
            for index in input.indices where input[index] == FormText.carriageReturn { return false }
            totalBytes += Int64(input.count)
            try emit(input, to: &handler)
            return true
        }
        guard input.count < delimiter.count - matched else { return false }
        for index in input.indices where input[index] != delimiter[matched + index] { return false }
        totalBytes += Int64(input.count)
        matched += input.count
        return true
    }

    @inline(__always)
    private mutating func consumeByte(_ input: Span<UInt8>, to handler: inout some MultipartHandler) throws -> Bool {
        // The last byte of a delimiter changes the state.
        guard matched < delimiter.count - 1 else { return false }
        totalBytes += 1
        if input[0] == delimiter[matched] {
            matched += 1
            return true
        }
        if matched > 0 { try emitMatched(to: &handler) }
        if input[0] == FormText.carriageReturn {
            matched = 1
        } else {
            try emit(input, to: &handler)
        }
        return true
    }
}
