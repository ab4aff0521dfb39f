/// Combines the parser with its input and its output that was not requested yet, and returns one step at a time.
///
/// Performs no I/O: the caller requests steps and supplies input when a step asks for it.
struct ReceivedPartState {
    enum Step {
        case head(MultipartPartHead)
        case data([UInt8])
        case partEnd
        case formEnd
        case needsInput
    }

    /// The maximum number of bytes that are parsed ahead of the request, regardless of the size of the input.
    static let slice = 32 * 1_024

    private var parser: MultipartParser
    private var parsed = ParsedSteps()
    private var input: [UInt8] = []
    private var offset = 0
    private var hasEnded = false

    init(parser: MultipartParser) {
        self.parser = parser
    }

    /// Returns the next step. Skipped content counts towards the limits and is not stored.
    mutating func next(skippingData: Bool) throws(BodyError) -> Step {
        parsed.skipsData = skippingData
        while true {
            if let step = parsed.take() {
                if skippingData, case .data = step { continue }
                return step
            }
            if let failure = parsed.failure { throw failure }
            guard offset < input.count else { return hasEnded ? .formEnd : .needsInput }
            let end = min(input.count, offset + Self.slice)
            let (bytes, slice) = (input, offset..<end)
            offset = end
            do {
                try parser.feed(bytes.span.extracting(slice), to: &parsed)
            } catch {
                parsed.failure = Self.bodyError(error)
            }
        }
    }

    mutating func feed(_ chunk: [UInt8]) {
        input = chunk
        offset = 0
    }

    /// Marks the end of the input.
    mutating func end() throws(BodyError) {
        hasEnded = true
        input = []
        offset = 0
        do { try parser.finish() } catch { throw Self.bodyError(error) }
    }

    private static func bodyError(_ error: any Error) -> BodyError {
        error as? BodyError ?? BodyError(.readFailed, "The body could not be read: \(error)", cause: error)
    }

    /// The results of the parser for one slice.
    private struct ParsedSteps: MultipartHandler {
        var skipsData = false
        // Thrown after all preceding results were requested, so that the split of the body does not matter.
        var failure: BodyError?
        private var steps: [Step] = []
        private var position = 0

        mutating func partBegan(_ head: MultipartPartHead) {
            // Only the content of the current part is skipped; the caller has not decided about the next part yet.
            skipsData = false
            steps.append(.head(head))
        }

        mutating func partData(_ bytes: Span<UInt8>) {
            guard !skipsData else { return }
            steps.append(.data(unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }))
        }

        mutating func partEnded() { steps.append(.partEnd) }

        mutating func take() -> Step? {
            guard position < steps.count else { return nil }
            defer {
                position += 1
                if position == steps.count {
                    steps.removeAll(keepingCapacity: true)
                    position = 0
                }
            }
            return steps[position]
        }
    }
}
