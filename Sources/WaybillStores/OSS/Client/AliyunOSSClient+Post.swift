import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
public import WaybillMultipart

extension AliyunOSSClient {
    /// Uploads a part of a form as an object with PostObject, as a browser does. The part can be an image with a byte
    /// limit.
    ///
    /// ```swift
    /// try await client.post(.image("file", path: "front.jpg", .maxBytes(.kibibytes(100))), to: "cards/7-front.jpg")
    /// ```
    ///
    /// Without a signed `form`, the client signs a policy that allows only this key and is valid for one hour.
    ///
    /// - Parameters:
    ///   - file: The part with the content. It is sent last, in the form field `file`.
    ///   - key: The object key.
    ///   - form: A form that was signed elsewhere. It has its own URL; `bucket` then only sets the bucket of the
    ///     result.
    ///   - bucket: The bucket, or `nil` for the bucket of the client's configuration.
    ///   - options: The content type, metadata, access control and callback. Tags are rejected: PostObject has none.
    /// - Returns: The stored object.
    /// - Throws: ``StoreError``.
    @discardableResult
    public func post(
        _ file: MultipartPart, to key: String, form: OSSPostForm? = nil, in bucket: String? = nil,
        options: OSSObjectOptions = OSSObjectOptions()
    ) async throws(StoreError) -> OSSStoredObject {
        try await startPost(file, to: key, form: form, in: bucket, options: options).value
    }

    /// Starts uploading a part of a form as an object and immediately returns the handle.
    @discardableResult
    public func startPost(
        _ file: MultipartPart, to key: String, form: OSSPostForm? = nil, in bucket: String? = nil,
        options: OSSObjectOptions = OSSObjectOptions()
    ) -> ObjectUpload<OSSStoredObject> {
        ObjectUpload { run throws(StoreError) in
            try await self.post(file, to: key, form, in: self.bucket(bucket), options, run)
        }
    }

    private func post(
        _ file: MultipartPart, to key: String, _ ticket: OSSPostForm?, in bucket: String, _ options: OSSObjectOptions,
        _ run: ObjectRun
    ) async throws(StoreError) -> OSSStoredObject {
        let fields = try formFields(options, for: key)
        let last = Locked<ChecksummedBody?>(nil)
        let refused = Locked<StoreCredentials?>(nil)
        let sent: @Sendable () -> ChecksummedBody? = { last.withLock { $0 } }
        var call = StoreCall(.post, bucket: bucket, key: "")
        call.form = { date, isRefused throws(StoreError) in
            let signed: OSSPostForm
            if let ticket {
                if isRefused {
                    throw StoreError(
                        .presignedExpired, "The store rejected the signed form. Request a new one from the server.")
                }
                signed = ticket
            } else {
                signed = try await self.signedForm(for: key, in: bucket, at: date, isRefused: isRefused, refused)
            }
            let form = try signed.form(key: key, file: file, additional: fields, at: date)
            do throws(BodyError) {
                let body = try await form.prepared()
                let content = body.parts.last.flatMap { $0.name == "file" ? $0.range : nil }
                let checked = ChecksummedBody(body, of: content ?? 0..<0)
                last.withLock { $0 = content == nil ? nil : checked }
                run.setTotal(body.contentLength)
                return checked
            } catch {
                throw StoreError(error)
            }
        }
        run.enter(.sending)
        let result = try await caller.make(
            call, run, at: ticket?.url,
            checks: { response throws(StoreError) in try self.compare(sent()?.whole?.checksum, with: response) },
            lookUp: {
                guard let body = sent(), let whole = body.whole else {
                    return .unknown(StoreError(.unexpectedResponse, "The length of the form is unknown."))
                }
                return await self.look(for: key, in: bucket, size: body.rangeLength, whole.checksum, run)
            })
        return stored(result, of: requests(for: key, in: bucket, options), .whole)
    }

    private func signedForm(
        for key: String, in bucket: String, at date: Date, isRefused: Bool,
        _ refused: borrowing Locked<StoreCredentials?>
    ) async throws(StoreError) -> OSSPostForm {
        let rejecting = isRefused ? refused.withLock { $0 } : nil
        let credentials = try await formCredentials(at: date, rejecting: rejecting)
        refused.withLock { $0 = credentials }
        let policy = OSSPostPolicy(
            expiration: date.addingTimeInterval(3_600), conditions: [.bucket(bucket), .key(key)])
        return try policy.form(
            at: configuration.endpoint.url(bucket: bucket, key: ""), rules: configuration.rules,
            credentials: credentials,
            date: date)
    }

    /// Returns the object options as form fields, with the same names and values as the header fields.
    private func formFields(
        _ options: OSSObjectOptions, for key: String
    ) throws(StoreError) -> [OSSPostForm.Field] {
        guard options.tags.isEmpty else {
            throw StoreError(
                .invalidArgument, "Forms do not support tags. Upload the object without a form, or remove the tags.")
        }
        var fields = try options.fields(for: key).adding(options.limitFields()).map { field in
            // OSS's own form fields have lower-case names; the others have the spelling of the HTTP field.
            OSSPostForm.Field(field.name.rawName, field.value)
        }
        if let callback = options.callback {
            fields.append(OSSPostForm.Field("callback", try callback.order()))
            for (name, value) in try callback.namedVariables().sorted(by: { $0.key < $1.key }) {
                fields.append(OSSPostForm.Field(name, value))
            }
        }
        return fields
    }
}
