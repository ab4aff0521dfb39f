internal import FoundationEssentials

/// A rejection by a ``QiniuStore``.
struct QiniuErrorResponse: Error, Sendable {
    let status: Int
    let message: String

    init(_ status: Int, _ message: String) {
        self.status = status
        self.message = message
    }

    static let badToken = QiniuErrorResponse(401, "bad token")
    static let expiredToken = QiniuErrorResponse(401, "expired token")
    static let noSuchUpload = QiniuErrorResponse(612, "no such uploadId")
}

/// A request as Qiniu interprets it, from its raw target.
struct QiniuCall: Sendable {
    let request: RecordedRequest
    var operation = QiniuStoreOperation.unknown
    var bucket = ""
    /// `nil` if the store generates the key.
    var key: [UInt8]?
    var uploadID: String?
    var part: Int?

    init(_ request: RecordedRequest) {
        self.request = request
        let pieces = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        switch (request.method, pieces.first) {
        case ("POST", "") where pieces.count == 1: operation = .form
        case ("GET", "v4") where pieces == ["v4", "query"]: operation = .regions
        case ("GET", "stat") where pieces.count == 2: readEntry(pieces[1])
        case (_, "buckets") where pieces.count >= 5 && pieces[2] == "objects" && pieces[4] == "uploads":
            readParts(pieces)
        default: break
        }
    }

    /// Reads the encoded `bucket:key` of a query for an object.
    private mutating func readEntry(_ text: String) {
        guard let bytes = QiniuText.bytes(text), let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return }
        bucket = bytes[..<colon].text
        key = Array(bytes[(colon + 1)...])
        operation = .stat
    }

    private mutating func readParts(_ pieces: [String]) {
        bucket = pieces[1]
        if pieces[3] != "~" {
            guard let bytes = QiniuText.bytes(pieces[3]) else { return }
            key = bytes
        }
        uploadID = pieces.count > 5 ? pieces[5] : nil
        part = pieces.count > 6 ? Int(pieces[6]) : nil
        switch (request.method, pieces.count) {
        case ("POST", 5): operation = .begin
        case ("POST", 6): operation = .complete
        case ("GET", 6): operation = .list
        case ("DELETE", 6): operation = .abort
        case ("PUT", 7) where part.map { (1...10_000).contains($0) } == true: operation = .part
        default: break
        }
    }

    /// Returns a value of the query.
    func query(_ name: String) -> String? {
        guard let mark = request.target.firstIndex(of: "?") else { return nil }
        for pair in request.target[request.target.index(after: mark)...].split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves[0] == name, halves.count == 2 else { continue }
            return StoreText.decoded(halves[1])?.text
        }
        return nil
    }
}

/// The Base64 encoding of Qiniu.
enum QiniuText {
    static func base64(_ bytes: [UInt8]) -> String {
        String(
            Data(bytes).base64EncodedString().map { character -> Character in
                switch character {
                case "+": "-"
                case "/": "_"
                default: character
                }
            })
    }

    static func bytes(_ text: String) -> [UInt8]? {
        guard !text.contains(where: { "+/".contains($0) }) else { return nil }
        let standard = String(
            text.map { character -> Character in
                switch character {
                case "-": "+"
                case "_": "/"
                default: character
                }
            })
        return Data(base64Encoded: standard).map { Array($0) }
    }

    /// Returns a text as JSON.
    static func json(_ text: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return (try? encoder.encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
    }
}
