import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
public import WaybillMultipart

extension AliyunOSSClient {
    /// Stores a part of a form as an object, as a browser would: PostObject. The part can be an image that is made to fit.
    ///
    /// ```swift
    /// try await client.post(.image("file", path: "front.jpg", .maxBytes(.kibibytes(100))), to: "cards/7-front.jpg")
    /// ```
    ///
    /// Without a form that somebody has signed, the client signs a policy that allows this one key for an hour.
    ///
    /// - Parameters:
    ///   - file: The part with the bytes. It goes last, and its field is called `file`.
    ///   - key: The key.
    ///   - form: A form that was signed elsewhere. It names its own place; `bucket` then only says what the result is called.
    ///   - bucket: The bucket; `nil` for the client's.
    ///   - options: Type, metadata, who may read, callback. No tags, which OSS does not take with a form.
    /// - Returns: The object.
    /// - Throws: ``StoreError``.
    @discardableResult
    public func post(
        _ file: MultipartPart, to key: String, form: OSSPostForm? = nil, in bucket: String? = nil,
        options: OSSObjectOptions = OSSObjectOptions()
    ) async throws(StoreError) -> OSSStoredObject {
        try await startPost(file, to: key, form: form, in: bucket, options: options).value
    }

    /// Starts to store a part of a form as an object and returns the handle at once.
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
        var call = OSSCall(.post, bucket: bucket, key: "")
        call.form = { date, isRefused throws(StoreError) in
            let signed: OSSPostForm
            if let ticket {
                if isRefused {
                    throw StoreError(.presignedExpired, "the store refused the signed form: ask for another")
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
        let answer = try await make(
            call, run, at: ticket?.url,
            checks: { response throws(StoreError) in try self.compare(sent()?.whole?.checksum, with: response) },
            lookUp: {
                guard let body = sent(), let whole = body.whole else {
                    return .cannotTell(StoreError(.unexpectedAnswer, "the form's length was not known"))
                }
                return await self.look(for: key, in: bucket, size: body.rangeLength, whole.checksum, run)
            })
        return stored(answer, key, bucket, hasCallback: options.callback != nil)
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

    /// What is said about the object, as fields of the form: in the same words as the header fields.
    private func formFields(
        _ options: OSSObjectOptions, for key: String
    ) throws(StoreError) -> [OSSPostForm.Field] {
        guard options.tags.isEmpty else {
            throw StoreError(.invalidArgument, "OSS takes no tags with a form: put the object, or leave them out")
        }
        var fields = try options.fields(for: key).adding(options.limitFields()).map { field in
            // Names of fields that are OSS's own are spelled in small letters; the others as HTTP spells them.
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
