internal import FoundationEssentials

/// The callback that a request asks for. No callback is sent; its body is stored with the object.
struct OSSCallback {
    private struct Order: Decodable {
        var callbackUrl: String
        var callbackHost: String?
        var callbackBody: String
        var callbackBodyType: String?
        var callbackSNI: Bool?
    }

    private let order: Order
    private let variables: [String: String]

    /// Reads the header or the query.
    ///
    /// - Throws: ``OSSRefusal`` if OSS would not accept it.
    init?(_ call: OSSCall) throws {
        let header = call.request.filled("x-oss-callback")
        let item = call.query("callback")
        guard header == nil || item == nil else {
            throw OSSRefusal.badRequest("The callback is given as a header and in the query.")
        }
        guard let encoded = header ?? item else { return nil }
        try self.init(
            encoded: encoded, variables: call.request.filled("x-oss-callback-var") ?? call.query("callback-var"))
    }

    init(encoded: String, variables: String?) throws {
        order = try Self.decoded(Order.self, encoded, "callback")
        self.variables = try variables.map { try Self.decoded([String: String].self, $0, "callback-var") } ?? [:]
        let urls = order.callbackUrl.split(separator: ";")
        let types = ["application/x-www-form-urlencoded", "application/json"]
        guard (1...5).contains(urls.count), urls.allSatisfy({ $0.hasPrefix("http://") || $0.hasPrefix("https://") }),
            !order.callbackBody.isEmpty, order.callbackBodyType.map(types.contains) ?? true
        else { throw OSSRefusal.badRequest("The callback configuration is not valid.") }
        guard self.variables.keys.allSatisfy({ $0.hasPrefix("x:") && $0 == $0.lowercased() }) else {
            throw OSSRefusal.badRequest("The names of callback variables begin with x: and are lower case.")
        }
    }

    private init(_ order: Order, _ variables: [String: String]) {
        self.order = order
        self.variables = variables
    }

    /// Returns the callback with additional variables from the fields of a form.
    func with(_ more: [String: String]) -> OSSCallback {
        OSSCallback(order, variables.merging(more) { $1 })
    }

    /// Returns the body that the callback server would receive.
    func expanded(_ call: OSSCall, _ object: OSSObject, key: [UInt8]? = nil) -> String {
        let isJSON = order.callbackBodyType == "application/json"
        var values = [
            "bucket": call.bucket ?? "", "object": (key ?? call.key).text, "etag": object.etag,
            "mimeType": object.fields["content-type"] ?? "", "crc64": "\(object.content.crc64)",
        ]
        values.merge(variables) { $1 }
        let quoted = values.mapValues { value in isJSON ? Self.json(value) : StoreText.encoded(value.utf8) }
            .merging(["size": "\(object.content.size)"]) { $1 }
        var pieces = order.callbackBody.split(separator: "${", omittingEmptySubsequences: false).makeIterator()
        var text = String(pieces.next() ?? "")
        while let piece = pieces.next() {
            guard let end = piece.firstIndex(of: "}") else {
                text += "${" + piece
                continue
            }
            text += (quoted[String(piece[..<end])] ?? "") + piece[piece.index(after: end)...]
        }
        return text
    }

    private static func json(_ text: String) -> String {
        let data = try? JSONEncoder().encode([text])
        return data.map { String(decoding: $0.dropFirst().dropLast(), as: UTF8.self) } ?? "\"\""
    }

    private static func decoded<Value: Decodable>(_ type: Value.Type, _ encoded: String, _ what: String) throws -> Value
    {
        guard encoded.utf8.count <= 5_120, let data = Data(base64Encoded: encoded),
            let value = try? JSONDecoder().decode(type, from: data)
        else { throw OSSRefusal.badRequest("The \(what) is not base64 of the JSON that it has to be, or too long.") }
        return value
    }
}
