import FoundationEssentials

/// Prints requests to object stores, one line of JSON each, which the vendors' packages sign again.
///
///     VendorRequests oss
///     VendorRequests qiniu
///     VendorRequests s3
///     VendorRequests s3-uploads ENDPOINT PROFILE DIRECTORY
@main struct VendorRequests {
    static func main() async throws {
        switch CommandLine.arguments.dropFirst().first {
        case "oss":
            for line in try await SignedTable.lines() { try say(line) }
            for line in try PolicyTable.lines() { try say(line) }
            for line in try await SentTable.lines() { try say(line) }
        case "qiniu":
            for line in try await QiniuTable.lines() { try say(line) }
        case "s3":
            for line in try S3Table.lines() { try say(line) }
            for line in try PolicyTable.s3Lines() { try say(line) }
            for line in try await S3SentTable.lines() { try say(line) }
        case "s3-uploads": try await S3Uploads(Array(CommandLine.arguments.dropFirst(2))).run()
        default: throw UsageError(text: "which store? There are: oss, qiniu, s3, s3-uploads")
        }
    }

    private static func say(_ line: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        print(String(decoding: try encoder.encode(line), as: UTF8.self))
    }
}

/// A request in the printed form.
struct RequestLine: Encodable {
    /// The name printed with a difference.
    var what: String
    var method = ""
    /// The raw request target, or the corresponding part of a URL; the whole URL for S3.
    var target = ""
    /// Header fields in order.
    var headers: [[String]] = []
    var bucket = ""
    /// The key, not encoded.
    var key = ""
    var region = "cn-hangzhou"
    var id: String
    var secret: String
    var token: String?
    /// The body if the signature covers it.
    var body: String?
    /// The hash that the signature covers, of a body that is not known.
    var payload: String?
    /// The fields of a form, which replace the request.
    var form: [[String]]?
}

/// An invalid command line.
struct UsageError: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
}
