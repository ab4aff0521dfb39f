import TestSupport
import Waybill

/// A fault as a value: what goes wrong where, and what an upload that meets it has to end with.
struct FaultRow: Sendable, CustomStringConvertible {
    /// How far the upload has come when it happens.
    enum Place: String, Sendable, CaseIterable {
        /// No byte of the body was read.
        case before
        /// A part of the body was read, and much of it has not left yet.
        case middle
        /// All but the last byte was read.
        case lastByte
        /// All of the body was read.
        case after
    }

    /// What an upload ended with, apart from numbers.
    enum Ending: Sendable, Hashable, CustomStringConvertible {
        case success(Int)
        case failure(UploadError.Code, Kind)

        var description: String {
            switch self {
            case .success(let status): "success \(status)"
            case .failure(let code, let kind): "\(code), \(kind)"
            }
        }
    }

    /// An outcome without its count.
    enum Kind: String, Sendable, Hashable {
        case notSent, incomplete, rejected, unknown

        init(_ outcome: UploadOutcome) {
            switch outcome {
            case .notSent: self = .notSent
            case .incomplete: self = .incomplete
            case .rejected: self = .rejected
            case .unknown: self = .unknown
            }
        }
    }

    /// Which limit of the transfer ends it, when one does.
    enum Limit: Sendable, Hashable {
        case none, connect, stall, response, total
    }

    /// What there is to connect to.
    enum Target: Sendable, Hashable {
        /// The server.
        case server
        /// A port that refuses.
        case closedPort
        /// A port that swallows connections.
        case blackHole
        /// A name without an address.
        case absentName
        /// A name whose look-up hangs.
        case hangingName
    }

    let name: String
    let place: Place
    /// What the server does with the request, given the length of the body.
    var behaviours: @Sendable (Int) -> [Behaviour] = { _ in [] }
    /// What happens to the connection before that.
    var arrival: LoopbackServer.Arrival?
    var target = Target.server
    var limit = Limit.none
    var expectContinue = TransferOptions.ExpectContinue.never
    /// What it may end with: one, or those between which the kernel's race decides.
    let endings: Set<Ending>

    var description: String { "\(name), \(place)" }

    /// Large where the server is to stop in the midst of it, so that most of it can't have left by then.
    var bodySize: Int { place == .before || place == .middle ? 8 << 20 : 200_000 }

    /// Whether the connection may end with a RST, which brings no acknowledgement of what was read last.
    func resets(bodyOf size: Int) -> Bool {
        behaviours(size).flatMap(\.steps).contains { step in
            switch step {
            case .close(.reset), .close(.abandon): true
            default: false
            }
        }
    }

    /// How much of the body is read before the fault.
    static func read(_ place: Place, of size: Int) -> Int? {
        switch place {
        case .before: 0
        case .middle: 1 << 20
        case .lastByte: size - 1
        case .after: nil
        }
    }
}

extension FaultRow.Place: CustomStringConvertible {
    var description: String {
        switch self {
        case .before: "before the body"
        case .middle: "in the middle of the body"
        case .lastByte: "before the last byte"
        case .after: "after the body"
        }
    }
}

/// How the body is sent.
enum Shape: String, Sendable, CaseIterable {
    case rawPUT, multipartPOST
}
