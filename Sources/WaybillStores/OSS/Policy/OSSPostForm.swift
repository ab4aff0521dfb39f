public import FoundationEssentials
public import Waybill
public import WaybillCore
public import WaybillMultipart

/// The signed fields of a form that can be posted to OSS or a store of S3. ``OSSPostPolicy`` creates them, usually on a server, for a
/// client that has no secret.
///
/// ```swift
/// let ticket = try OSSPostForm(json: answer.body)                  // what your server gave
/// let request = try ticket.request(key: "2026/7/front.jpg", file: .file("file", path: "front.jpg"))
/// let response = try await session.send(request)
/// ```
///
/// The values of fields are never printed.
public struct OSSPostForm: Sendable, Hashable {
    /// A field and its value.
    public struct Field: Sendable, Hashable {
        /// The name, in OSS's spelling.
        public var name: String
        /// The value.
        public var value: Secret

        /// Creates a field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = .secret(value)
        }
    }

    /// The URL to which the form is posted.
    public let url: String
    /// The fields, in the order in which they are sent.
    public var fields: [Field]
    /// The date at which the form expires, if known.
    public var expiration: Date?
    /// The required prefix of every key, if known.
    public var keyPrefix: String

    /// Creates a form from fields that were signed elsewhere.
    ///
    /// - Throws: ``StoreError/Code/presignedMalformed`` if the URL is invalid, or the policy or its signature is
    ///   missing.
    public init(
        url: String, fields: [Field], expiration: Date? = nil, keyPrefix: String = ""
    ) throws(StoreError) {
        let scheme = url.utf8.starts(with: "https://".utf8) || url.utf8.starts(with: "http://".utf8)
        guard scheme else {
            throw StoreError(.presignedMalformed, "The URL of the form must begin with http:// or https://.")
        }
        let names = Set(fields.map { $0.name.lowercased() })
        let signatures: Set = ["signature", "x-oss-signature", "x-amz-signature"]
        guard names.contains("policy"), !names.isDisjoint(with: signatures) else {
            throw StoreError(
                .presignedMalformed,
                "The form has no policy or no signature. Check the server's response, including the names of the "
                    + "fields.")
        }
        self.url = url
        self.fields = fields
        self.expiration = expiration
        self.keyPrefix = keyPrefix
    }

    /// Returns the complete form with a key and a file.
    ///
    /// - Parameters:
    ///   - key: The object key. The store replaces `${filename}` in it with the name of the file.
    ///   - file: The part with the content. It is renamed to `file` and sent last, because OSS ignores the fields after
    ///     it.
    ///   - additional: More fields, such as `x-oss-meta-*`, `Content-Type`, `success_action_status` or `x:` variables.
    ///   - now: The present date; a form that has expired is rejected.
    /// - Returns: A form to be posted to ``url``.
    /// - Throws: ``StoreError/Code/presignedExpired`` or ``StoreError/Code/invalidKey``.
    public func form(
        key: String, file: MultipartPart, additional: [Field] = [], at now: Date = .now
    ) throws(StoreError) -> MultipartForm {
        if let expiration, expiration <= now {
            throw StoreError(
                .presignedExpired,
                "The signed form expired at \(StoreDate.iso8601(expiration)). Request a new one from the server.")
        }
        let isS3 = fields.contains { $0.name.lowercased() == "x-amz-signature" }
        if isS3 { try S3Name.checkKey(key) } else { try OSSName.checkKey(key) }
        guard key.utf8.starts(with: keyPrefix.utf8) else {
            throw StoreError(
                .invalidKey,
                "The signed form requires a key that begins with \(StoreError.shown(keyPrefix)).")
        }
        var file = file
        file.name = "file"
        if file.fileName == nil {
            file.fileName = key.utf8.split(separator: UInt8(ascii: "/")).last.flatMap { String($0) }
        }
        var form = MultipartForm()
        // Use raw bytes: line breaks in a text field would be converted to CRLF, which would change the key.
        form.append(.rawText("key", Array(key.utf8), isSecret: false))
        for field in fields + additional where field.name.lowercased() != "key" {
            form.append(.text(field.name, field.value))
        }
        form.append(file)
        form.order = .filesLast
        return form
    }

    /// Returns a request that posts the form, without the session's common fields, interceptors and credentials.
    public func request(
        key: String, file: MultipartPart, additional: [Field] = [], at now: Date = .now
    ) throws(StoreError) -> UploadRequest {
        var options = UploadOptions()
        options.excludedDefaults = [.commonFields, .interceptors, .headers, .cookies]
        // A redirect would send the policy and its signature to another host.
        options.redirects = .returned
        return UploadRequest(
            .post, url, content: .form(try form(key: key, file: file, additional: additional, at: now)),
            options: options)
    }
}

extension OSSPostForm: RedactedDescription {
    /// The URL and the names of the fields.
    public var description: String {
        "form to \(Redaction.url(url)) with \(fields.map { StoreError.shown($0.name) }.joined(separator: ", "))"
    }
}
