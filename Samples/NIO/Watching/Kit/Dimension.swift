import Waybill

/// The values of dimensions in metrics and traces.
enum Dimension {
    static let none = "none"

    static func result(_ code: UploadError.Code?) -> String {
        switch code {
        case nil: "success"
        case .cancelled: "cancelled"
        default: "failure"
        }
    }

    /// Returns the name of a code; `other` if it is not a single ASCII word, which interceptors can choose.
    static func code(_ code: UploadError.Code?) -> String {
        code.map { label($0.description) } ?? none
    }

    static func label(_ word: String) -> String {
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
        case .processed: "processed"
        }
    }

    static func status(_ status: HTTPResponse.Status?) -> String {
        status.map { "\($0.code / 100)xx" } ?? none
    }
}
