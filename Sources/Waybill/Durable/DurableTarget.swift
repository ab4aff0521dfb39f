public import HTTPTypes
import WaybillCore
import WaybillMultipart

/// The persistable parts of a request except its body: URL, method, header fields and the name of a credential.
package struct DurableTarget: Codable, Sendable {
    /// The absolute URL. Its query is persisted, too. If it contains a signature, the signature is only as safe as the
    /// directory of the queue, and it may expire before the delivery.
    package var url: String
    /// The method.
    package var method: String
    /// Header fields without credentials.
    package var headers: HTTPFields
    /// The named credential.
    package var credential: DurableCredential?
    /// The number of seconds for which the server acts only once on an `Idempotency-Key` after it first received it;
    /// `nil` if the server does not guarantee that.
    package var keyWindowSeconds: Int64?
    /// The protocol of a resumable upload; `nil` to send the body in one request.
    package var resumption: ResumeProtocol?
    /// The metadata of a tus upload.
    package var metadata: [String: String]?

    /// Creates a target, and checks that the request can be persisted.
    ///
    /// - Throws: ``UploadError/Code/invalidURL``, or ``UploadError/Code/notDurable`` for a URL with a password and for
    ///   header fields that are known to contain credentials.
    package init(
        _ method: HTTPRequest.Method, _ location: some UploadLocation, headers: HTTPFields = [:],
        credential: DurableCredential? = nil, idempotency: Idempotency = .ignored, resumption: ResumeProtocol? = nil
    ) throws(UploadError) {
        self.resumption = resumption
        url = try URLText.absolute(location.uploadURL, base: nil)
        _ = try RequestTarget(url)
        guard URLReference(url).userInformation == nil else {
            throw Self.refused(
                "The URL contains a user or a password, which can't be persisted. \(Remedy.nameCredential)")
        }
        if let field = headers.first(where: { Self.secretFields.contains($0.name) }) {
            throw Self.refused(
                "The header field \(field.name) contains a credential, which can't be persisted. "
                    + "\(Remedy.nameCredential)")
        }
        if let field = headers.first(where: { TransferRequest.reservedFields.contains($0.name) }) {
            throw UploadError(
                .invalidRequest, "The header field \(field.name) is set by the transport. Remove it.", phase: .waiting)
        }
        self.method = method.rawValue
        self.headers = headers
        self.credential = credential
        if case .honoured(let window) = idempotency { keyWindowSeconds = max(0, window.components.seconds) }
    }

    /// The lane: host, port and the name of the credential.
    package var lane: DurableLane {
        (try? DurableLane(url: url, account: credential?.name)) ?? DurableLane(host: url, account: credential?.name)
    }

    private static let secretFields: Set<HTTPField.Name> = [.authorization, .cookie, .proxyAuthorization]

    private static func refused(_ message: String) -> UploadError {
        UploadError(.notDurable, message, phase: .waiting)
    }
}

/// A credential that is referenced by name, and its position in the request.
public struct DurableCredential: Codable, Sendable, Hashable {
    /// The name for ``NamedCredentials/credential(named:)``.
    public var name: String
    private var field: String?

    /// Returns a token, sent as `Authorization: Bearer …` (RFC 6750).
    public static func bearer(named name: String) -> DurableCredential { DurableCredential(name: name) }

    /// Returns a credential that is the whole value of a header field.
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
                .invalidRequest,
                "The credential \(quoted(self.name)) contains characters that are not allowed in a header field.",
                phase: .preparing)
        }
        headers[name] = secret.value
        options.secretFields.insert(name)
    }
}

extension DurableTarget {
    /// Performs one attempt.
    func send(_ content: UploadContent, _ delivery: Delivery) async throws(UploadError) -> UploadResponse {
        guard let method = HTTPRequest.Method(rawValue: method) else {
            throw UploadError(.invalidRequest, "\(quoted(method)) is not a valid HTTP method.", phase: .preparing)
        }
        var options = delivery.options
        var headers = headers
        if method == .post || method == .patch || createsUpload, headers[.idempotencyKey] == nil {
            headers[.idempotencyKey] = "\"\(delivery.idempotencyKey)\""
        }
        if let credential {
            try credential.apply(
                try await delivery.credentials.required(credential.name), headers: &headers, options: &options)
        }
        if let resumption {
            var resume = ResumeOptions(resumption)
            resume.records = nil
            resume.metadata = metadata
            options.resumeBox = ResumeBox(resume, storage: ResumeRecordStore(delivery))
        }
        let request = UploadRequest(method, url, headers: headers, content: content, options: options)
        return try await delivery.session.core.start(request, isCancelled: Task.isCancelled)
            .outcome(onProgress: delivery.onProgress)
    }

    /// Whether an upload may be created by tus, which uses POST whatever the method is.
    private var createsUpload: Bool { resumption.map { $0 != .draft } ?? false }

    /// A resumable upload is continued: its next attempt asks the server first. A plain request can't be verified. It can
    /// be repeated safely if its method is idempotent (RFC 9110 section 9.2.2), or if the server still recognizes the key.
    func verdict(_ delivery: Delivery) -> DeliveryVerdict {
        if resumption != nil, let resume = delivery.resume, !resume.isEmpty { return .resume(resume) }
        if !createsUpload, HTTPRequest.Method(rawValue: method)?.isIdempotent == true { return .repeatable }
        guard let keyWindowSeconds, delivery.sinceFirstAttempt < .seconds(keyWindowSeconds) else {
            return .undetermined
        }
        return .repeatable
    }
}

extension UploadError.Code {
    /// The upload can't be persisted: it contains a stream, a closure or a credential. The message names the
    /// alternative.
    public static let notDurable = Self("notDurable")
}

extension UploadError {
    /// The delay that the server requested (RFC 9110 section 10.2.3).
    package var retryAfter: Duration? {
        response.flatMap { RetryPolicy.retryAfter(of: HTTPResponse(status: $0.status, headerFields: $0.headers)) }
    }
}
