import WaybillCore

/// Reads a body through the parser on demand.
///
/// It is Sendable because a part may be read by another task than the one that iterates over the form, such as an
/// upload that forwards it. `isReading` makes sure that only one of them reads at a time.
final class PartSource: @unchecked Sendable {
    let limits: MultipartLimits
    let files = PendingFiles()
    private let isReading = Locked(false)
    // The properties below may be accessed only by the task that has set `isReading`.
    private let input: any ChunkInput
    private var state: ReceivedPartState
    private var number = 0
    private var isInPart = false
    private var failure: BodyError?

    init(parser: MultipartParser, limits: MultipartLimits, input: any ChunkInput) {
        state = ReceivedPartState(parser: parser)
        self.limits = limits
        self.input = input
    }

    func nextPart() async throws(BodyError) -> IncomingPart? {
        try beginReading()
        defer { endReading() }
        while true {
            switch try await step(skippingData: true) {
            case .head(let head):
                number += 1
                isInPart = true
                return IncomingPart(head: head, source: self, number: number)
            case .formEnd: return nil
            case .partEnd: isInPart = false
            case .data, .needsInput: break
            }
        }
    }

    func nextChunk(of part: IncomingPart) async throws(BodyError) -> [UInt8]? {
        try beginReading()
        defer { endReading() }
        guard part.number == number else {
            throw BodyError(
                .partPassed,
                "The part \(quoted(part.name)) is no longer available: the form advanced to the next part. Read a part "
                    + "before you request the next one.", part: part.name)
        }
        guard isInPart else { return nil }
        while true {
            switch try await step(skippingData: false) {
            case .data(let bytes): return bytes
            case .head, .partEnd, .formEnd:
                isInPart = false
                return nil
            case .needsInput: break
            }
        }
    }

    private func beginReading() throws(BodyError) {
        let canRead = isReading.withLock { isReading in
            defer { isReading = true }
            return !isReading
        }
        guard canRead else {
            throw BodyError(
                .simultaneousReads,
                "Two tasks read the same form concurrently. Read a form from one task at a time.")
        }
    }

    private func endReading() {
        isReading.withLock { $0 = false }
    }

    private func step(skippingData: Bool) async throws(BodyError) -> ReceivedPartState.Step {
        if let failure { throw failure }
        guard !Task.isCancelled else { throw BodyError.taskCancelled }
        do throws(BodyError) {
            let step = try state.next(skippingData: skippingData)
            guard case .needsInput = step else { return step }
            if let chunk = try await input.next() { state.feed(chunk) } else { try state.end() }
            return step
        } catch {
            // Cancellation affects only the cancelled task; an error of the body is permanent.
            failure = error
            throw error
        }
    }
}

/// The source of a body's bytes.
protocol ChunkInput: AnyObject {
    func next() async throws(BodyError) -> [UInt8]?
}

/// A source that reads any sequence of chunks.
final class SequenceInput<Body: AsyncSequence>: ChunkInput where Body.Element: Sequence<UInt8> {
    private var iterator: Body.AsyncIterator

    init(_ body: Body) {
        iterator = body.makeAsyncIterator()
    }

    func next() async throws(BodyError) -> [UInt8]? {
        var iterator = iterator
        defer { self.iterator = iterator }
        do {
            return try await iterator.next(isolation: #isolation).map { Array($0) }
        } catch let error as CancellationError {
            throw BodyError(.cancelled, "The task was cancelled.", cause: error)
        } catch {
            throw BodyError(
                .streamFailed, "Reading the body failed: \(error). The form is incomplete.", cause: error)
        }
    }
}
