/// The operation that a request performs on an ``OSSStore``.
package enum OSSOperation: String, Sendable, Hashable, CaseIterable {
    case putObject = "PutObject"
    case appendObject = "AppendObject"
    case postObject = "PostObject"
    case headObject = "HeadObject"
    case getObject = "GetObject"
    case deleteObject = "DeleteObject"
    case initiate = "InitiateMultipartUpload"
    case uploadPart = "UploadPart"
    case listParts = "ListParts"
    case complete = "CompleteMultipartUpload"
    case abort = "AbortMultipartUpload"
    case listObjects = "ListObjects"
    case unknown = "Unknown"
}

/// A bucket with a key. Keys are bytes: two spellings of the same letter are different keys.
struct ObjectName: Hashable, Sendable {
    var bucket: String
    var key: [UInt8]
}

/// A request as OSS interprets it, from its raw target and its `Host`.
struct OSSCall: Sendable {
    struct Item: Sendable {
        let name: [UInt8]
        let value: [UInt8]
    }

    let request: RecordedRequest
    let operation: OSSOperation
    let bucket: String?
    let key: [UInt8]
    let query: [Item]

    /// - Throws: ``OSSRefusal`` if the target cannot be parsed.
    init(_ request: RecordedRequest, _ settings: OSSStoreSettings) throws {
        self.request = request
        guard let host = request.value(of: "Host"), request.values(of: "Host").count == 1 else {
            throw OSSRefusal.badRequest("There has to be one Host.")
        }
        let target = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard target[0].hasPrefix("/" + settings.pathPrefix.drop { $0 == "/" }), !request.target.contains("#") else {
            throw OSSRefusal.badRequest("The target is not a path that is served here: \(request.target)")
        }
        guard request.target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw OSSRefusal.badRequest("The target has a byte that no URL may have.")
        }
        guard let path = StoreText.decoded(target[0].utf8.dropFirst(settings.pathPrefix.utf8.count + 1).text) else {
            throw OSSRefusal.badRequest("The path has a broken escape: \(request.target)")
        }
        query = try Self.items(target.count > 1 ? String(target[1]) : "")
        (bucket, key) = try Self.place(
            String(host.prefix { $0 != ":" }).lowercased(), path, settings)
        operation = Self.operation(request.method, bucket: bucket, key: key, query, request)
    }

    /// Returns the value of a query item as text.
    func query(_ name: String) -> String? {
        query.first { $0.name.elementsEqual(name.utf8) }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    var partNumber: Int? { query("partNumber").flatMap { Int($0) } }
    var uploadID: String? { query("uploadId") }
    var name: ObjectName? { bucket.map { ObjectName(bucket: $0, key: key) } }

    private static func items(_ text: String) throws -> [Item] {
        try text.split(separator: "&").map { piece in
            let halves = piece.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard !piece.contains("+") else {
                throw OSSRefusal.badRequest("A bare + in a query is a blank to some and a plus to others: \(piece)")
            }
            guard let name = StoreText.decoded(halves[0]),
                let value = StoreText.decoded(halves.count > 1 ? halves[1] : "")
            else { throw OSSRefusal.badRequest("The query has a broken escape: \(piece)") }
            return Item(name: name, value: value)
        }
    }

    /// Returns bucket and key according to the three forms of an endpoint.
    private static func place(
        _ host: String, _ path: [UInt8], _ settings: OSSStoreSettings
    ) throws -> (bucket: String?, key: [UInt8]) {
        if let bucket = settings.ownHosts[host] { return (bucket, path) }
        if settings.serviceHosts.contains(host) {
            guard !path.isEmpty else { return (nil, []) }
            let parts = path.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
            return (String(decoding: parts[0], as: UTF8.self), parts.count > 1 ? Array(parts[1]) : [])
        }
        // The longest first: `oss.localhost` is a host of the service, not the bucket `oss`.
        let services = settings.serviceHosts.sorted { $0.utf8.count > $1.utf8.count }
        guard let service = services.first(where: { host.hasSuffix("." + $0) }) else {
            throw OSSRefusal(404, "NoSuchBucket", "No bucket has the host \(host).", ec: "0015-00000101")
        }
        return (String(host.dropLast(service.count + 1)), path)
    }

    private static func operation(
        _ method: String, bucket: String?, key: [UInt8], _ query: [Item], _ request: RecordedRequest
    ) -> OSSOperation {
        guard bucket != nil else { return .unknown }
        let names = Set(query.map { String(decoding: $0.name, as: UTF8.self) })
        let isForm = request.value(of: "Content-Type")?.lowercased().hasPrefix("multipart/form-data") == true
        switch (method, key.isEmpty) {
        case ("POST", true): return isForm ? .postObject : .unknown
        case ("GET", true): return names.contains("list-type") ? .listObjects : .unknown
        case ("PUT", false): return names.contains("partNumber") ? .uploadPart : .putObject
        case ("HEAD", false): return .headObject
        case ("GET", false): return names.contains("uploadId") ? .listParts : .getObject
        case ("DELETE", false): return names.contains("uploadId") ? .abort : .deleteObject
        case ("POST", false):
            if names.contains("append") { return .appendObject }
            if names.contains("uploads") { return .initiate }
            return names.contains("uploadId") ? .complete : .unknown
        default: return .unknown
        }
    }
}

extension Sequence<UInt8> {
    /// The bytes decoded as UTF-8.
    var text: String { String(decoding: Array(self), as: UTF8.self) }
}

extension RecordedRequest {
    /// Returns the first value of a field if it is not empty.
    func filled(_ name: String) -> String? { value(of: name).flatMap { $0.isEmpty ? nil : $0 } }

    /// The fields by their lower-case names. Values of the same name are joined with commas.
    var fields: [String: String] {
        var fields: [String: String] = [:]
        for line in headerLines {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let name = line[..<colon].lowercased()
            let value = String(line[line.index(after: colon)...].trimmingWhitespace)
            fields[name] = fields[name].map { "\($0),\(value)" } ?? value
        }
        return fields
    }
}
