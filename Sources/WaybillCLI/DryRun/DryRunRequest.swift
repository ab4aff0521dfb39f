import HTTPTypes
import Waybill

/// A request in the output of `--dry-run`.
struct DryRunRequest: Sendable {
    var method: String
    /// The URL without user name, password and query.
    var url: String
    /// The header fields; `nil` for a value that may be secret.
    var headers: [(name: String, value: String?)]
    var attempts: Int
    var limits: TransferLimits
    var rate: ByteCount?

    init(
        _ method: HTTPRequest.Method, _ url: String, _ headers: HTTPFields, _ options: UploadOptions
    ) {
        self.method = "\(method)"
        self.url = Redaction.url(url)
        self.headers = headers.map { field in
            let value = Redaction.value(of: field)
            return (field.name.rawName, value == Secret.placeholder ? nil : value)
        }
        attempts = options.retry.maxRetries + 1
        (limits, rate) = (options.transfer.limits, options.transfer.rateLimit)
    }

    /// The request line, the header fields, and the limits of each attempt.
    var lines: [String] {
        ["\(method) \(url)"] + headers.map { "  \($0.name): \($0.value ?? Secret.placeholder)" } + [limitLine]
    }

    /// The limits as a line: `1 attempt; connect 15.0 s, stall 15.0 s, response 60 s`.
    var limitLine: String {
        var facts = [
            "connect \(Figures.seconds(limits.connect))", "stall \(Figures.seconds(limits.stall))",
            "response \(Figures.seconds(limits.response))",
        ]
        if let total = limits.total { facts.append("total \(Figures.seconds(total))") }
        if let rate { facts.append("\(rate)/s") }
        return "\(attempts == 1 ? "1 attempt" : "\(attempts) attempts at most"); \(facts.joined(separator: ", "))"
    }

    var members: JSONObject {
        let fields: [JSONObject] = headers.map { ["name": $0.name, "value": $0.value] }
        return ["method": method, "url": url, "headers": fields] + limitMembers
    }

    var limitMembers: JSONObject {
        [
            "attempts": attempts, "connectSeconds": limits.connect, "stallSeconds": limits.stall,
            "responseSeconds": limits.response, "totalSeconds": limits.total, "rateLimit": rate,
        ]
    }
}
