import WaybillCore

/// A body with known bytes that records all calls.
final class ProbeBody: UploadBody {
    /// The way in which the body yields its bytes.
    enum Plan: Sendable {
        /// All bytes as one piece.
        case whole(Int)
        /// The first bytes; then `later` until ``resume()`` is called; then the rest.
        case inTwo(Int, first: Int)
        /// Pieces of the given size, each after `later` with an immediate wake-up from another task.
        case inPieces(Int, of: Int)
        /// The first bytes, then an error.
        case failing(Int, after: Int)
        /// An error instead of a reader.
        case unreadable(Int)
    }

    /// The error of the failing plans.
    struct Failure: Error, Equatable {}

    struct State: Sendable, CustomStringConvertible {
        var readerCount = 0
        var closeCount = 0
        var yielded = 0
        var readCount = 0
        /// The number of times that the reader returned `later`.
        var laterCount = 0
        var canContinue = false
        /// Whether a reader was read after it had ended, failed or was closed.
        var wasReadAfterEnd = false
        var wake: (@Sendable () -> Void)?

        var description: String {
            "readers \(readerCount), closed \(closeCount), reads \(readCount), bytes yielded \(yielded), "
                + "returned later \(laterCount)"
                + (wasReadAfterEnd ? ", and read again after its end" : "")
        }
    }

    let length: Int64?
    let isReplayable = true
    let count: Int
    let state = Observed(State())
    private let plan: Plan

    init(_ plan: Plan, announcesLength: Bool = true) {
        self.plan = plan
        switch plan {
        case .whole(let count), .inTwo(let count, _), .inPieces(let count, _), .failing(let count, _),
            .unreadable(let count):
            self.count = count
        }
        length = announcesLength ? Int64(count) : nil
    }

    /// The bytes that the server has to receive.
    var bytes: [UInt8] { (0..<count).map(Self.byte) }

    /// The period of 251 bytes is not a multiple of any buffer size, so that a lost or duplicated piece is detected.
    static func byte(at index: Int) -> UInt8 { UInt8(truncatingIfNeeded: index % 251) }

    /// Ends the wait of ``Plan/inTwo(_:first:)``.
    func resume() {
        let wake = state.update { state in
            state.canContinue = true
            return state.wake
        }
        wake?()
    }

    func makeReader(wake: @escaping @Sendable () -> Void) throws -> any BodyReader {
        if case .unreadable = plan { throw Failure() }
        state.update { state in
            state.readerCount += 1
            state.wake = wake
        }
        return Reader(plan, state, wake)
    }

    private final class Reader: BodyReader {
        private let plan: Plan
        private let state: Observed<State>
        private let wake: @Sendable () -> Void
        private var position = 0
        private var hasPaused = false
        private var isOver = false

        init(_ plan: Plan, _ state: Observed<State>, _ wake: @escaping @Sendable () -> Void) {
            self.plan = plan
            self.state = state
            self.wake = wake
        }

        func read(into output: inout OutputRawSpan) throws -> BodyRead {
            let isTooMuch = isOver
            let canContinue = state.update { state in
                state.readCount += 1
                if isTooMuch { state.wasReadAfterEnd = true }
                return state.canContinue
            }
            switch plan {
            case .whole(let count): return append(upTo: count, of: count, to: &output)
            case .inTwo(let count, let first):
                if position == first, !canContinue { return later() }
                return append(upTo: position < first ? first : count, of: count, to: &output)
            case .inPieces(let count, let piece):
                hasPaused.toggle()
                if hasPaused, position < count {
                    Task { [wake] in wake() }
                    return later()
                }
                return append(upTo: min(count, position + piece), of: count, to: &output)
            case .failing(let count, let limit):
                if position < limit { return append(upTo: limit, of: count, to: &output) }
                isOver = true
                throw Failure()
            case .unreadable:
                throw Failure()
            }
        }

        func close() {
            isOver = true
            state.update { $0.closeCount += 1 }
        }

        private func later() -> BodyRead {
            state.update { $0.laterCount += 1 }
            return .later
        }

        private func append(upTo end: Int, of count: Int, to output: inout OutputRawSpan) -> BodyRead {
            guard position < count else {
                isOver = true
                return .end
            }
            let size = min(end - position, output.freeCapacity)
            for index in position..<position + size { output.append(ProbeBody.byte(at: index)) }
            position += size
            state.update { $0.yielded += size }
            return .bytes(size)
        }
    }
}
