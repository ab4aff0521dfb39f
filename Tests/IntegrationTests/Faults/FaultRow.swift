import TestSupport
import Waybill

/// A fault: what goes wrong and where, and the expected result of the upload.
struct FaultRow: Sendable, CustomStringConvertible {
    /// The progress of the upload at the time of the fault.
    enum Place: String, Sendable, CaseIterable {
        /// No byte of the body has been read.
        case before
        /// Part of the body has been read, and much of it has not been sent yet.
        case middle
        /// All bytes but the last have been read.
        case lastByte
        /// The whole body has been read.
        case after
    }

    /// The result of an upload without its counts.
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
        case notSent, incomplete, rejected, unknown, processed

        init(_ outcome: UploadOutcome) {
            switch outcome {
            case .notSent: self = .notSent
            case .incomplete: self = .incomplete
            case .rejected: self = .rejected
            case .unknown: self = .unknown
            case .processed: self = .processed
            }
        }
    }

    /// The limit that ends the transfer, if any.
    enum Limit: Sendable, Hashable {
        case none, connect, stall, response, total
    }

    /// The destination of the connection.
    enum Target: Sendable, Hashable {
        /// The server.
        case server
        /// A port that refuses connections.
        case closedPort
        /// A port that drops connection attempts.
        case blackHole
        /// A name without an address.
        case absentName
        /// A name whose lookup hangs.
        case hangingName
    }

    let name: String
    let place: Place
    /// The server's behavior, given the length of the body.
    var behaviours: @Sendable (Int) -> [Behaviour] = { _ in [] }
    /// The behavior of the connection before the request.
    var arrival: LoopbackServer.Arrival?
    var target = Target.server
    var limit = Limit.none
    var expectContinue = TransferOptions.ExpectContinue.never
    /// The permitted results: one, or several if the kernel decides a race between them.
    let endings: Set<Ending>

    var description: String { "\(name), \(place)" }

    /// Large if the server stops in the middle, so that most of the body cannot have been sent by then.
    var bodySize: Int { place == .before || place == .middle ? 8 << 20 : 200_000 }

    /// Returns whether the connection may end with a RST, which does not acknowledge the bytes read last.
    func resets(bodyOf size: Int) -> Bool {
        behaviours(size).flatMap(\.steps).contains { step in
            switch step {
            case .close(.reset), .close(.abandon): true
            default: false
            }
        }
    }

    /// Returns how many bytes of the body are read before the fault.
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

/// The form of the body.
enum Shape: String, Sendable, CaseIterable {
    case rawPUT, multipartPOST
}
