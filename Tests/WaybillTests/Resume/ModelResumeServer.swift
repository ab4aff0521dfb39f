import TestSupport

@testable import Waybill

/// A server of resumable uploads as a value. It receives the exchanges of a state machine, with random faults, and counts
/// how often its application ran.
struct ModelResumeServer {
    /// What becomes of the bytes of an interrupted append.
    enum Keeping: CaseIterable { case all, some, none }

    let dialect: ResumeDialect
    let length: Int64
    var faultRate: Double
    var replaysResponse = false
    /// Whether the length was declared at the creation, or with the last append.
    var knowsLength = true
    private var created = 0
    private var stored: Int64?
    /// The number of times that the application received the whole body.
    private(set) var runs = 0
    /// A violation of the protocol by the client.
    private(set) var violation: String?
    /// The number of body bytes that were received, including lost ones.
    private(set) var received: Int64 = 0

    init(_ dialect: ResumeDialect, length: Int64, faultRate: Double) {
        self.dialect = dialect
        self.length = length
        self.faultRate = faultRate
    }

    /// Handles an exchange.
    mutating func handle(
        _ exchange: ResumeExchange, _ random: inout SeededGenerator
    ) -> ResumeStateMachine.Event {
        let isFaulty = Double.random(in: 0..<1, using: &random) < faultRate
        switch exchange {
        case .options:
            var reply = ResumeReply(status: 204)
            if dialect == .tus {
                reply.tusVersions = ["1.0.0"]
                reply.tusExtensions = ["creation-defer-length"]
            }
            return isFaulty ? .failed(.init()) : .replied(reply, .init(isComplete: true))
        case .create(let range, let isLast): return create(range, isLast: isLast, isFaulty, &random)
        case .offset: return offset(isFaulty)
        case .append(let range, let isLast): return append(range, isLast: isLast, isFaulty, &random)
        case .delete, .ordinary, .parts, .concatenate:
            violation = "\(exchange)"
            return .failed(.init())
        }
    }

    private mutating func create(
        _ range: Range<Int64>, isLast: Bool, _ isFaulty: Bool, _ random: inout SeededGenerator
    ) -> ResumeStateMachine.Event {
        if runs > 0 { violation = "created again after the application ran" }
        // A fault before or after the server handled the request.
        if isFaulty, Bool.random(using: &random) { return .failed(.init()) }
        created += 1
        stored = range.upperBound
        received += range.upperBound
        if isLast { runs += 1 }
        if isFaulty { return .failed(.init(isComplete: true, acknowledged: range.upperBound)) }
        var reply = ResumeReply(status: 201, location: "/upload/\(created)")
        if isLast, dialect != .tus {
            reply = ResumeReply(status: 200, isComplete: true)
        } else if dialect == .tus, !range.isEmpty {
            reply.offset = range.upperBound
        }
        return .replied(reply, .init(isComplete: true, acknowledged: range.upperBound))
    }

    private mutating func offset(_ isFaulty: Bool) -> ResumeStateMachine.Event {
        if isFaulty { return .failed(.init()) }
        guard let stored else { return .replied(ResumeReply(status: 404), .init()) }
        var reply = ResumeReply(status: 200, offset: stored, length: knowsLength ? length : nil)
        if dialect != .tus { reply.isComplete = runs > 0 }
        return .replied(reply, .init(isComplete: true))
    }

    private mutating func append(
        _ range: Range<Int64>, isLast: Bool, _ isFaulty: Bool, _ random: inout SeededGenerator
    ) -> ResumeStateMachine.Event {
        guard let before = stored else { return .replied(ResumeReply(status: 404), .init()) }
        let count = range.upperBound - range.lowerBound
        if runs > 0 {
            guard range.isEmpty else {
                violation = "appended \(range) after the application ran"
                return .replied(ResumeReply(status: 403), .init())
            }
            let reply = ResumeReply(status: replaysResponse ? 200 : 403, isComplete: replaysResponse ? true : nil)
            return .replied(reply, .init(isComplete: true))
        }
        guard before == range.lowerBound else {
            violation = "appended at \(range.lowerBound) instead of \(before)"
            return .replied(ResumeReply(status: 409, offset: before, isComplete: false), .init())
        }
        received += count
        if isFaulty, Bool.random(using: &random) {
            let sent = Int64.random(in: 0...count, using: &random)
            // The last byte may have left although the server never read it.
            let isComplete = sent == count
            switch Keeping.allCases.randomElement(using: &random)! {
            case .all where !isComplete: stored = before + sent
            case .some: stored = before + (sent > 0 ? Int64.random(in: 0..<sent, using: &random) : 0)
            case .all, .none: break
            }
            return .failed(.init(isComplete: isComplete, acknowledged: sent))
        }
        stored = range.upperBound
        if isLast {
            runs += 1
            knowsLength = true
        }
        if isFaulty { return .failed(.init(isComplete: true, acknowledged: count)) }
        var reply = ResumeReply(status: dialect == .tus ? 204 : isLast ? 200 : 201, offset: range.upperBound)
        if dialect != .tus { reply.isComplete = isLast }
        return .replied(reply, .init(isComplete: true, acknowledged: count, time: .seconds(1)))
    }
}
