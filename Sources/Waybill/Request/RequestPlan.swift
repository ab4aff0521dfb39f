import HTTPTypes
import WaybillCore

/// A validated request combined with the session's settings: everything that all attempts share except the body.
///
/// A class, because every event of an upload accesses it, and copying a value of this size costs more than the access.
final class RequestPlan: Sendable {
    let method: HTTPRequest.Method
    let url: String
    let target: RequestTarget
    let headers: HTTPFields
    let options: UploadOptions
    /// The value of `Authorization`, unless a refresher provides it.
    let credential: Secret?
    /// The interceptors of the upload.
    let chain: InterceptorChain
    /// The session's common fields for every form.
    let commonFields: CommonFields?
    /// The cookie jar of the session.
    let cookies: CookieJar?
    private let isRepeatable: Bool
    private let hasContent: Bool
    private let sendsContentType: Bool

    /// Validates everything that can be validated before the first file is opened.
    convenience init(_ request: UploadRequest, _ configuration: UploadSession.Configuration) throws(UploadError) {
        try self.init(request, SessionSettings(configuration))
    }

    /// Validates everything that can be validated before the first file is opened.
    init(_ request: UploadRequest, _ settings: SessionSettings) throws(UploadError) {
        (url, target) = try settings.target(of: request.url)
        options = request.options ?? settings.configuration.options
        let excluded = options.excludedDefaults
        commonFields = excluded.contains(.commonFields) ? nil : settings.configuration.commonFields
        cookies = excluded.contains(.cookies) ? nil : settings.configuration.cookies
        chain = InterceptorChain(
            interceptors: (excluded.contains(.interceptors) ? [] : settings.configuration.interceptors)
                + request.interceptors,
            limit: settings.configuration.interceptorLimit, clock: settings.configuration.clock)
        if case .notAFile(let url) = request.content.kind {
            throw Self.refused("\(Redaction.url(url)) is not a file URL. Pass a file URL as the content.")
        }
        var headers: HTTPFields = excluded.contains(.headers) ? [:] : settings.configuration.headers
        for field in request.headers { headers[fields: field.name] = [] }
        for field in request.headers { headers.append(field) }
        if !headers.has(.userAgent), !excluded.contains(.userAgent), settings.configuration.userAgent != nil {
            guard let agent = settings.userAgent else {
                throw Self.refused("The user agent contains characters that are not allowed in a header field.")
            }
            headers.append(agent)
        }
        for field in headers where TransferRequest.reservedFields.contains(field.name) {
            throw Self.refused("The header field \(field.name) is set by the transport. Remove it.")
        }
        // Generated for every upload, and sent if the method is not idempotent (RFC 9110 section 9.2.2).
        if [.post, .patch].contains(request.method), !headers.has(.idempotencyKey) {
            let key = IdempotencyKey(random: settings.configuration.randomBits())
            headers.append(HTTPField(name: .idempotencyKey, value: key.fieldValue))
        }
        method = request.method
        isRepeatable = request.isRepeatable
        self.headers = headers
        sendsContentType = request.sendsContentType
        if case .empty = request.content.kind { hasContent = false } else { hasContent = true }
        guard options.authentication == nil || !headers.has(.authorization) else {
            throw Self.refused(
                "The request has both an Authorization header field and other credentials. Use only one of them.")
        }
        let digest = options.authentication?.digest ?? options.transfer.digest
        guard digest == nil || URLReference(url).userInformation == nil else {
            throw Self.refused("The request has both a user in the URL and Digest credentials. Use only one of them.")
        }
        credential = try options.authentication?.fieldValue().map { .secret($0) }
    }

    /// The rules for the upload's state machine.
    var rules: UploadRules {
        var rules = UploadRules(retry: options.retry, accepts: options.accepts)
        rules.isIdempotent = method.isIdempotent || isRepeatable
        if case .honoured(let window) = options.idempotency, headers.has(.idempotencyKey) {
            rules.keyWindow = window
        }
        rules.canRefresh = options.authentication?.refresher != nil
        rules.answersChallenges = options.authentication?.digest != nil || options.transfer.digest != nil
        rules.route = UploadRoute(firstHop, policy: options.redirects)
        return rules
    }

    /// The first hop of the upload.
    var firstHop: UploadRoute.Hop {
        UploadRoute.Hop(method: method, url: url, host: target.hostAndPort, sendsBody: hasContent)
    }

    /// Returns the header fields for a hop: no content fields without the body, and no credentials for another origin.
    func headers(_ fields: HTTPFields, on hop: UploadRoute.Hop) -> HTTPFields {
        var fields = fields
        if !hop.sendsBody, hasContent {
            for name in Self.contentFields { fields[name] = nil }
        }
        if !hop.sendsCredentials {
            let allowed = harmlessFields
            fields = HTTPFields(fields.filter { allowed.contains($0.name) })
        }
        return fields
    }

    /// The fields that may be sent to another origin.
    var harmlessFields: Set<HTTPField.Name> { Self.crossOriginFields.subtracting(options.secretFields) }

    /// The fields to remove according to RFC 9110 section 15.4, step 5, and the idempotency key, which applies only to
    /// requests that change something.
    static let contentFields: [HTTPField.Name] = [
        .contentType, .contentEncoding, .contentLanguage, .contentLocation, .contentDisposition, .idempotencyKey,
    ]
    /// The fields that are sent to another origin. An unknown field may contain a credential.
    private static let crossOriginFields = Redaction.harmless.union([
        .idempotencyKey, .contentLocation, .contentRange, .range, .ifMatch, .ifNoneMatch, .ifModifiedSince,
        .ifUnmodifiedSince, HTTPField.Name("Content-MD5")!, HTTPField.Name("Content-Digest")!,
        HTTPField.Name("Repr-Digest")!, HTTPField.Name("traceparent")!, HTTPField.Name("tracestate")!,
    ])

    /// Returns the header fields of an attempt. The content type of the body is added unless the caller set one.
    func headers(for body: (any UploadBody)?) throws(UploadError) -> HTTPFields {
        guard sendsContentType, let type = body?.contentType else { return headers }
        guard HTTPField.isValidValue(type) else {
            throw UploadError(
                .invalidContentType, "The content type contains characters that are not allowed in a header field.",
                phase: .preparing)
        }
        var headers = headers
        guard headers.has(.contentType) else {
            headers.append(HTTPField(name: .contentType, value: type))
            return headers
        }
        if let problem = Self.contentTypeProblem(in: headers, of: type) {
            throw UploadError(.invalidRequest, problem, phase: .preparing)
        }
        return headers
    }

    /// Returns the error message if the caller's content type conflicts with that of the body.
    static func contentTypeProblem(in headers: HTTPFields, of type: String) -> String? {
        guard let boundary = boundaryParameter(of: type), headers[.contentType]?.contains(boundary) != true else {
            return nil
        }
        return "The header field Content-Type lacks the boundary of the form. Remove the field."
    }

    private static func boundaryParameter(of contentType: String) -> String? {
        guard contentType.lowercased().hasPrefix("multipart/") else { return nil }
        let parameters = contentType.split(separator: ";").dropFirst()
        return parameters.lazy.map { String($0.drop { $0 == " " }) }.first { $0.lowercased().hasPrefix("boundary=") }
    }

    private static func refused(_ message: String) -> UploadError {
        UploadError(.invalidRequest, message, phase: .waiting)
    }
}

extension HTTPFields {
    /// Whether there is a field with this name. Unlike `contains(_:)`, it builds no index of the names, which costs more
    /// than a search of a few fields.
    fileprivate func has(_ name: HTTPField.Name) -> Bool { contains { $0.name == name } }
}
