/// Which part comes next, and what of it: the parser, its input, and what was found in it and not yet asked for.
///
/// Pure: whoever drives it asks for a step and gives it input when it says so.
struct PartMachine {
    enum Step {
        case head(MultipartPartHead)
        case data([UInt8])
        case partEnd
        case formEnd
        case needsInput
    }

    /// No more than this is parsed ahead of what was asked for, however large the input is.
    static let slice = 32 * 1_024

    private var parser: MultipartParser
    private var found = Found()
    private var input: [UInt8] = []
    private var offset = 0
    private var isOver = false

    init(parser: MultipartParser) {
        self.parser = parser
    }

    /// What comes next. Content that nobody wants is counted and not kept.
    mutating func next(skippingData: Bool) throws(BodyError) -> Step {
        found.skips = skippingData
        while true {
            if let step = found.take() {
                if skippingData, case .data = step { continue }
                return step
            }
            if let failure = found.failure { throw failure }
            guard offset < input.count else { return isOver ? .formEnd : .needsInput }
            let end = min(input.count, offset + Self.slice)
            let (bytes, slice) = (input, offset..<end)
            offset = end
            do {
                try parser.feed(bytes.span.extracting(slice), to: &found)
            } catch {
                found.failure = Self.bodyError(error)
            }
        }
    }

    mutating func give(_ chunk: [UInt8]) {
        input = chunk
        offset = 0
    }

    /// There is no more input.
    mutating func end() throws(BodyError) {
        isOver = true
        input = []
        offset = 0
        do { try parser.finish() } catch { throw Self.bodyError(error) }
    }

    private static func bodyError(_ error: any Error) -> BodyError {
        error as? BodyError ?? BodyError(.readFailed, "The body can't be read: \(error)", cause: error)
    }

    /// What the parser told of one slice.
    private struct Found: MultipartHandler {
        var skips = false
        // Thrown after all that came before it was asked for, as for any other cut of the body.
        var failure: BodyError?
        private var steps: [Step] = []
        private var taken = 0

        mutating func partBegan(_ head: MultipartPartHead) {
            // Only what the reader is in is skipped; the next part is somebody's wish again.
            skips = false
            steps.append(.head(head))
        }

        mutating func partData(_ bytes: Span<UInt8>) {
            guard !skips else { return }
            steps.append(.data(unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }))
        }

        mutating func partEnded() { steps.append(.partEnd) }

        mutating func take() -> Step? {
            guard taken < steps.count else { return nil }
            defer {
                taken += 1
                if taken == steps.count {
                    steps.removeAll(keepingCapacity: true)
                    taken = 0
                }
            }
            return steps[taken]
        }
    }
}
