import FoundationEssentials
import HTTPTypes
import WaybillCore

/// The names and forms in which the version 4 signatures of stores differ.
protocol SignatureV4Rules: SendableMetatype {
    /// The name of the algorithm, in the string to sign and in `Authorization`.
    static var algorithm: String { get }
    /// The text before the secret in the first key of the derivation.
    static var keyPrefix: String { get }
    /// The last element of the scope.
    static var terminator: String { get }
    /// The lower-case prefix of the store's own header fields, all of which are signed.
    static var fieldPrefix: String { get }
    /// The field of a signed form with the name of the algorithm.
    static var formAlgorithmField: String { get }
    /// The names of the query items in a presigned URL.
    static var itemNames: SignatureV4ItemNames { get }
    /// The name of the list of fields in `Authorization`.
    static var listName: String { get }
    /// Whether the signature covers the host and lists all signed fields. Otherwise, it lists only those that the store
    /// does not expect to be signed.
    static var listsAllFields: Bool { get }
    /// Whether a query item without a value is signed with `=`, and a sequence of spaces in a field as one space.
    static var normalizesValues: Bool { get }
}

/// The names of the query items in a presigned URL.
struct SignatureV4ItemNames: Sendable {
    var algorithm: String
    var date: String
    var expires: String
    var credential: String
    var list: String
    var token: String
    var signature: String

    var all: [String] { [algorithm, date, expires, credential, list, token, signature] }
}

/// The version 4 signatures of OSS and of Amazon S3: HMAC-SHA256 over a canonical request, with a key that is derived
/// for one day, region and product. The rules have the differences between the stores.
enum SignatureV4<Rules: SignatureV4Rules> {
    static var algorithm: String { Rules.algorithm }
    static var unsignedPayload: String { "UNSIGNED-PAYLOAD" }

    /// The scope of a signature: a day, a region and a product.
    struct Scope: Sendable, Hashable {
        let date: Date
        let region: String
        let product: String

        var day: String { StoreDate.day(date) }
        var text: String { "\(day)/\(region)/\(product)/\(Rules.terminator)" }
    }

    /// The query and header fields of a request, with everything that the signature covers.
    struct DatedRequest: Sendable, Hashable {
        var query: [StoreQueryItem]
        var headers: HTTPFields
        /// The lower-case names of the fields that the signature lists, sorted.
        let listedNames: [String]
    }

    /// Adds date, token and scope to the header fields or, for a presigned URL, to the query. Removes those of an
    /// earlier attempt.
    ///
    /// - Parameters:
    ///   - query: The query, not percent-encoded.
    ///   - headers: The header fields as they will be sent.
    ///   - additional: The names of further fields to sign. Absent ones are ignored.
    ///   - identity: The identity that signs.
    ///   - scope: The date, region and product.
    ///   - seconds: The validity of a presigned URL in seconds; `nil` for a signature in the header.
    ///   - payload: The SHA-256 of the body in hexadecimal digits, or ``unsignedPayload``.
    /// - Returns: The request without its signature.
    static func dated(
        query: [StoreQueryItem], headers: HTTPFields, additional: [HTTPField.Name], identity: OSSSigningIdentity,
        scope: Scope, seconds: Int?, payload: String = unsignedPayload
    ) -> DatedRequest {
        let ownItems = Set(Rules.itemNames.all.map { Array($0.utf8) })
        var query = query.filter { !ownItems.contains(Array($0.name.utf8)) }
        var headers = headers
        headers[.authorization] = nil
        headers[field("date")] = seconds == nil ? StoreDate.compact(scope.date) : nil
        headers[field("content-sha256")] = seconds == nil ? payload : nil
        headers[field("security-token")] = seconds == nil ? identity.securityToken?.value : nil
        let names = listedNames(headers, Set(additional.map(\.canonicalName)))
        if let seconds {
            let item = Rules.itemNames
            query += [
                StoreQueryItem(item.algorithm, algorithm),
                StoreQueryItem(item.date, StoreDate.compact(scope.date)),
                StoreQueryItem(item.expires, "\(seconds)"),
                StoreQueryItem(item.credential, "\(identity.accessKeyID)/\(scope.text)"),
            ]
            if !names.isEmpty { query.append(StoreQueryItem(item.list, names.joined(separator: ";"))) }
            if let token = identity.securityToken { query.append(StoreQueryItem(item.token, token.value)) }
        }
        return DatedRequest(query: query, headers: headers, listedNames: names)
    }

    /// Returns the canonical request.
    ///
    /// - Parameters:
    ///   - method: The HTTP method.
    ///   - path: The percent-encoded path by the rules of the store.
    ///   - host: The value of `Host`, for rules that always sign it.
    ///   - request: The query and the header fields.
    /// - Returns: The string whose hash is signed.
    static func canonicalRequest(
        _ method: HTTPRequest.Method, path: String, host: String? = nil, _ request: DatedRequest
    ) -> String {
        let items = request.query.map { (PercentEncoding.query($0.name), PercentEncoding.query($0.value)) }
        let query = items.sorted { $0 < $1 }.map { name, value in
            Rules.normalizesValues ? "\(name)=\(value)" : StoreQueryItem.pair(name, value)
        }.joined(separator: "&")
        var names = Set(request.headers.map(\.name.canonicalName).filter(isCovered))
        names.formUnion(request.listedNames)
        let fields = names.sorted().compactMap { HTTPField.Name($0) }.map { name in
            let host = name.canonicalName == "host" ? host : nil
            return "\(name.canonicalName):\(host ?? value(of: name, in: request.headers))\n"
        }.joined()
        let payload = request.headers[field("content-sha256")] ?? unsignedPayload
        return "\(method.rawValue)\n\(path)\n\(query)\n\(fields)\n\(request.listedNames.joined(separator: ";"))\n"
            + payload
    }

    static func stringToSign(_ canonicalRequest: String, scope: Scope) -> String {
        "\(algorithm)\n\(StoreDate.compact(scope.date))\n\(scope.text)\n"
            + MessageAuthentication.sha256Text(canonicalRequest)
    }

    static func signature(_ stringToSign: String, secret: Secret, scope: Scope) -> String {
        MessageAuthentication.hexadecimal(
            MessageAuthentication.sha256(key: signingKey(secret: secret, scope: scope), stringToSign))
    }

    /// Returns the key that is derived for one day, region and product.
    static func signingKey(secret: Secret, scope: Scope) -> [UInt8] {
        [scope.day, scope.region, scope.product, Rules.terminator].reduce(
            Array("\(Rules.keyPrefix)\(secret.value)".utf8)
        ) { MessageAuthentication.sha256(key: $0, $1) }
    }

    /// Returns the value of `Authorization`.
    static func authorization(
        _ signature: String, identity: OSSSigningIdentity, scope: Scope, listedNames: [String]
    ) -> String {
        let list = listedNames.isEmpty ? "" : ",\(Rules.listName)=\(listedNames.joined(separator: ";"))"
        return "\(algorithm) Credential=\(identity.accessKeyID)/\(scope.text)\(list),Signature=\(signature)"
    }

    private static func listedNames(_ headers: HTTPFields, _ additional: Set<String>) -> [String] {
        let present = Set(headers.map(\.name.canonicalName))
        let names = present.filter { name in
            Rules.listsAllFields
                ? isCovered(name) || additional.contains(name) : additional.contains(name) && !isCovered(name)
        }
        return (Rules.listsAllFields ? names.union(["host"]) : names).sorted()
    }

    /// Whether a field is signed whenever it is present.
    private static func isCovered(_ name: String) -> Bool {
        name == "content-type" || name == "content-md5" || name.utf8.starts(with: Rules.fieldPrefix.utf8)
    }

    private static func value(of name: HTTPField.Name, in headers: HTTPFields) -> String {
        let value = headers.joinedValue(of: name)
        guard Rules.normalizesValues else { return value }
        return value.split(separator: " ").joined(separator: " ")
    }

    private static func field(_ name: String) -> HTTPField.Name {
        guard let field = HTTPField.Name(Rules.fieldPrefix + name) else {
            preconditionFailure("The prefix of the fields is invalid.")
        }
        return field
    }
}

extension HTTPFields {
    /// Returns the values of a field, trimmed and joined with commas; empty if the field is absent.
    func joinedValue(of name: HTTPField.Name) -> String {
        self[values: name].map(\.withoutOuterSpaces).joined(separator: ",")
    }
}

extension String {
    /// The string without spaces and tabs at its ends.
    var withoutOuterSpaces: String {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        guard let first = utf8.firstIndex(where: { !isBlank($0) }), let last = utf8.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(self[first...last])
    }
}
