public import FoundationEssentials
public import Waybill
public import WaybillCore
public import WaybillMultipart

/// The signed fields of a form that may be posted to OSS: made by ``OSSPostPolicy``, mostly on a server, and sent by a
/// program that has no secret.
///
/// ```swift
/// let ticket = try OSSPostForm(json: answer.body)                  // what your server gave
/// let request = try ticket.request(key: "2026/7/front.jpg", file: .file("file", path: "front.jpg"))
/// let response = try await session.send(request)
/// ```
///
/// Values of fields are never printed.
public struct OSSPostForm: Sendable, Hashable {
    /// A field and its value.
    public struct Field: Sendable, Hashable {
        /// The name, spelled as OSS spells it.
        public var name: String
        /// The value.
        public var value: Secret

        /// Describes a field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = .secret(value)
        }
    }

    /// Where it is posted.
    public let url: String
    /// The fields in the order in which they are sent.
    public var fields: [Field]
    /// When it is no longer good, as far as it is known.
    public var expiration: Date?
    /// What every key must begin with, as far as it is known.
    public var keyPrefix: String

    /// Describes a form that somebody has signed.
    ///
    /// - Throws: ``StoreError/Code/presignedMalformed`` for a URL that is none, or without a policy and its signature.
    public init(
        url: String, fields: [Field], expiration: Date? = nil, keyPrefix: String = ""
    ) throws(StoreError) {
        let scheme = url.utf8.starts(with: "https://".utf8) || url.utf8.starts(with: "http://".utf8)
        guard scheme else {
            throw StoreError(.presignedMalformed, "the form's URL has no http:// or https:// in front")
        }
        let names = Set(fields.map { $0.name.lowercased() })
        guard names.contains("policy"), names.contains("signature") || names.contains("x-oss-signature") else {
            throw StoreError(
                .presignedMalformed,
                "the form has no policy or no signature: look at what the server gave, field names included")
        }
        self.url = url
        self.fields = fields
        self.expiration = expiration
        self.keyPrefix = keyPrefix
    }

    /// The form with a key and a file.
    ///
    /// - Parameters:
    ///   - key: The key of the object. `${filename}` in it becomes the file's name at the store.
    ///   - file: The part with the bytes; its name becomes `file`, and it goes last, for OSS ignores what follows it.
    ///   - additional: Further fields, such as `x-oss-meta-*`, `Content-Type`, `success_action_status` or `x:` variables.
    ///   - now: The date, to refuse a form that is no longer good.
    /// - Returns: A form that is to be posted to ``url``.
    /// - Throws: ``StoreError/Code/presignedExpired`` or ``StoreError/Code/invalidKey``.
    public func form(
        key: String, file: MultipartPart, additional: [Field] = [], at now: Date = .now
    ) throws(StoreError) -> MultipartForm {
        if let expiration, expiration <= now {
            throw StoreError(
                .presignedExpired,
                "the signed form ran out at \(StoreDate.iso8601(expiration)): ask the server for another")
        }
        try OSSName.checkKey(key)
        guard key.utf8.starts(with: keyPrefix.utf8) else {
            throw StoreError(
                .invalidKey,
                "the signed form takes keys that begin with \(StoreError.shown(keyPrefix)), and this one does not")
        }
        var file = file
        file.name = "file"
        if file.fileName == nil {
            file.fileName = key.utf8.split(separator: UInt8(ascii: "/")).last.flatMap { String($0) }
        }
        var form = MultipartForm()
        // Bytes as they are: a text's line breaks would be made CRLF, and a key is no text.
        form.append(.rawText("key", Array(key.utf8), isSecret: false))
        for field in fields + additional where field.name.lowercased() != "key" {
            form.append(.text(field.name, field.value))
        }
        form.append(file)
        form.order = .filesLast
        return form
    }

    /// A request that posts the form. The session's common fields, interceptors and credentials are left out of it.
    public func request(
        key: String, file: MultipartPart, additional: [Field] = [], at now: Date = .now
    ) throws(StoreError) -> UploadRequest {
        var options = UploadOptions()
        options.omits = [.commonFields, .interceptors, .headers, .cookies]
        // The policy and its signature would go along to wherever an answer points.
        options.redirects = .returned
        return UploadRequest(
            .post, url, content: .form(try form(key: key, file: file, additional: additional, at: now)),
            options: options)
    }
}

extension OSSPostForm: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Where it goes, and the names of its fields.
    public var description: String {
        "form to \(Redaction.url(url)) with \(fields.map { StoreError.shown($0.name) }.joined(separator: ", "))"
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["form": description]) }
}
