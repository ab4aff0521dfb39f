// A body may come byte by byte. The way through the states is right for that, too, and long.

extension MultipartParser {
    /// Pieces below this size are not worth a search.
    static let fewBytes = 8

    /// Takes a few bytes of content that are no more than content, or no more than the next ones of a delimiter: what
    /// nearly all pieces are when a body comes byte by byte.
    ///
    /// - Returns: False, and nothing is taken, when there is more to it.
    mutating func takeFew(_ input: Span<UInt8>, to handler: inout some MultipartHandler) throws -> Bool {
        guard case .content = state, Int64(input.count) <= totalLimit - totalBytes else { return false }
        if input.count == 1 { return try takeOne(input, to: &handler) }
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
    private mutating func takeOne(_ input: Span<UInt8>, to handler: inout some MultipartHandler) throws -> Bool {
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
