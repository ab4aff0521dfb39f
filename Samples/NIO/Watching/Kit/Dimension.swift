import Waybill

/// The few words that tell uploads apart in metrics and traces.
enum Dimension {
    static let none = "none"

    static func result(_ code: UploadError.Code?) -> String {
        switch code {
        case nil: "success"
        case .cancelled: "cancelled"
        default: "failure"
        }
    }

    /// The word of a code. Codes are open, so one that is no plain word, from a transport or a part of somebody's own, is
    /// `other`: what it says might be anything.
    static func code(_ code: UploadError.Code?) -> String {
        guard let word = code?.description else { return none }
        let isWord = !word.isEmpty && word.utf8.count <= 40 && word.allSatisfy { $0.isASCII && $0.isLetter }
        return isWord ? word : "other"
    }

    static func outcome(_ outcome: UploadOutcome?) -> String {
        switch outcome {
        case nil: none
        case .notSent: "notSent"
        case .incomplete: "incomplete"
        case .rejected: "rejected"
        case .unknown: "unknown"
        }
    }

    static func status(_ status: HTTPResponse.Status?) -> String {
        status.map { "\($0.code / 100)xx" } ?? none
    }
}
