import HTTPTypes
import Waybill

/// A request as `--dry-run` tells of it.
struct RehearsedRequest: Sendable {
    var method: String
    /// Without user, password and query.
    var url: String
    /// Values that may be a secret are not among them.
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

    /// The request line, the header fields, and what each attempt is bounded by.
    var lines: [String] {
        ["\(method) \(url)"] + headers.map { "  \($0.name): \($0.value ?? Secret.placeholder)" } + [limitLine]
    }

    /// `1 attempt; connect 15.0 s, stall 15.0 s, answer 60 s`.
    var limitLine: String {
        var facts = [
            "connect \(SummaryText.seconds(limits.connect))", "stall \(SummaryText.seconds(limits.stall))",
            "answer \(SummaryText.seconds(limits.response))",
        ]
        if let total = limits.total { facts.append("all \(SummaryText.seconds(total))") }
        if let rate { facts.append("\(rate)/s") }
        return "\(attempts == 1 ? "1 attempt" : "\(attempts) attempts at most"); \(facts.joined(separator: ", "))"
    }

    var members: [JSONMember] {
        [
            JSONMember("method", .string(method)), JSONMember("url", .string(url)),
            JSONMember(
                "headers",
                .array(
                    headers.map { field in
                        .object([
                            JSONMember("name", .string(field.name)), JSONMember("value", .string(orNull: field.value)),
                        ])
                    })),
        ] + limitMembers
    }

    var limitMembers: [JSONMember] {
        [
            JSONMember("attempts", .int(Int64(attempts))),
            JSONMember("connectSeconds", .double(SummaryText.value(limits.connect))),
            JSONMember("stallSeconds", .double(SummaryText.value(limits.stall))),
            JSONMember("responseSeconds", .double(SummaryText.value(limits.response))),
            JSONMember("totalSeconds", limits.total.map { .double(SummaryText.value($0)) } ?? .null),
            JSONMember("rateLimit", .int(orNull: rate?.bytes)),
        ]
    }
}
