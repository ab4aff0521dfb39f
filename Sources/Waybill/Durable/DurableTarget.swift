public import HTTPTypes
import WaybillCore
import WaybillMultipart

/// Where a durable upload goes, and what goes along with its body: all that can be written down of a request.
public struct DurableTarget: Codable, Sendable {
    /// The absolute URL. Its query is written down, too: if that holds a signature, the signature is as safe as the queue's
    /// folder, and it will have expired some day.
    public var url: String
    /// The method.
    public var method: String
    /// Header fields; none that carries a credential.
    public var headers: HTTPFields
    /// The credential, by its name.
    public var credential: DurableCredential?
    /// What the server makes of an `Idempotency-Key`: for so many seconds after it first saw one it acts on it only once.
    /// `nil`: nobody promised that.
    public var keyWindowSeconds: Int64?

    /// Checks a request for what can't or mustn't be written down.
    ///
    /// - Throws: ``UploadError/Code/invalidURL``, or ``UploadError/Code/notDurable`` for a URL with a password and for
    ///   header fields that are known to carry credentials.
    public init(
        _ method: HTTPRequest.Method, _ location: some UploadLocation, headers: HTTPFields = [:],
        credential: DurableCredential? = nil, idempotency: Idempotency = .ignored
    ) throws(UploadError) {
        url = try URLText.absolute(location.uploadURL, base: nil)
        _ = try RequestTarget(url)
        guard URLReference(url).userInformation == nil else {
            throw Self.refused(
                "The URL holds a user or a password, which are not written down. \(Remedy.nameCredential)")
        }
        if let field = headers.first(where: { Self.secretFields.contains($0.name) }) {
            throw Self.refused(
                "The header field \(field.name) holds a credential, which is not written down. "
                    + "\(Remedy.nameCredential)")
        }
        if let field = headers.first(where: { TransferRequest.ownedFields.contains($0.name) }) {
            throw UploadError(.invalidRequest, "\(field.name) is set by the transport: leave it out", phase: .waiting)
        }
        self.method = method.rawValue
        self.headers = headers
        self.credential = credential
        if case .honoured(let window) = idempotency { keyWindowSeconds = max(0, window.components.seconds) }
    }

    /// The lane: host, port and the credential's name.
    public var lane: DurableLane {
        (try? DurableLane(url: url, account: credential?.name)) ?? DurableLane(host: url, account: credential?.name)
    }

    private static let secretFields: Set<HTTPField.Name> = [.authorization, .cookie, .proxyAuthorization]

    private static func refused(_ message: String) -> UploadError {
        UploadError(.notDurable, message, phase: .waiting)
    }
}

/// A credential that is only named, and where in a request it goes.
public struct DurableCredential: Codable, Sendable, Hashable {
    /// The name: ``NamedCredentials/credential(named:)``.
    public var name: String
    private var field: String?

    /// A token, sent as `Authorization: Bearer …` (RFC 6750).
    public static func bearer(named name: String) -> DurableCredential { DurableCredential(name: name) }

    /// The whole value of a header field.
    public static func field(_ field: HTTPField.Name, named name: String) -> DurableCredential {
        DurableCredential(name: name, field: field.rawName)
    }

    private init(name: String, field: String? = nil) {
        self.name = name
        self.field = field
    }

    fileprivate func apply(
        _ secret: Secret, headers: inout HTTPFields, options: inout UploadOptions
    ) throws(UploadError) {
        guard let field else {
            options.authentication = .bearer(secret)
            return
        }
        guard let name = HTTPField.Name(field), HTTPField.isValidValue(secret.value) else {
            throw UploadError(
                .invalidRequest, "the credential \(quoted(self.name)) holds characters that no header field may have",
                phase: .preparing)
        }
        headers[name] = secret.value
        options.secretFields.insert(name)
    }
}

extension DurableTarget {
    /// Makes one attempt.
    func send(_ content: UploadContent, _ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        guard let method = HTTPRequest.Method(rawValue: method) else {
            throw UploadError(.invalidRequest, "\(quoted(method)) is no method", phase: .preparing)
        }
        var options = delivery.options
        var headers = headers
        if method == .post || method == .patch, headers[.idempotencyKey] == nil {
            headers[.idempotencyKey] = "\"\(delivery.idempotencyKey)\""
        }
        if let credential {
            try credential.apply(
                try await delivery.credentials.required(credential.name), headers: &headers, options: &options)
        }
        return try await delivery.session.upload(
            content, to: url, method: method, headers: headers, options: options, onProgress: delivery.onProgress)
    }

    /// Nobody can be asked about a plain request; but a method that does the same however often it comes, or a server that
    /// still knows the key, takes it again without harm (RFC 9110 section 9.2.2).
    func verdict(_ delivery: Delivery) -> DeliveryVerdict {
        if HTTPRequest.Method(rawValue: method)?.isIdempotent == true { return .repeatable }
        guard let keyWindowSeconds, delivery.sinceFirstAttempt < .seconds(keyWindowSeconds) else { return .cannotTell }
        return .repeatable
    }
}

extension UploadError.Code {
    /// The upload can't be written down: it holds a stream, a closure or a credential. The message says what to give instead.
    public static let notDurable = Self("notDurable")
}

extension UploadError {
    /// How long the server asked to be left alone (RFC 9110 section 10.2.3).
    package var retryAfter: Duration? {
        response.flatMap { RetryPolicy.retryAfter(of: HTTPResponse(status: $0.status, headerFields: $0.headers)) }
    }
}
