import FoundationEssentials
import Waybill
import WaybillCore
import WaybillMultipart

/// The upload of one object: examines the source, then sends a form or parts.
struct QiniuPut: Sendable {
    let client: QiniuClient
    let source: QiniuSource
    let key: String?
    let options: QiniuPutOptions
    let run: ObjectRun
    /// The storage of the upload's record; `nil` for the directory of the client.
    var recordStore: (any ResumeRecordStore)?
    /// The bucket that the token must be for; `nil` to accept any.
    var bucket: String?

    func perform() async throws(StoreError) -> QiniuObject {
        try QiniuName.check(key: key)
        try client.configuration.checkTrust()
        return try await perform(QiniuPayload(source))
    }

    /// Uploads a payload that has been examined already.
    func perform(_ payload: QiniuPayload) async throws(StoreError) -> QiniuObject {
        guard !Task.isCancelled else { throw StoreError(.cancelled, "The upload was cancelled.") }
        run.setTotal(payload.size)
        let channel = try await QiniuChannel(
            client: client, run: run, key: key, size: payload.size, options: options)
        if let bucket { try channel.check(bucket: bucket) }
        if options.skipsSame, let same = try await sameObject(as: payload, channel) {
            run.addStored(bytes: payload.size)
            return same
        }
        if payload.size > client.configuration.formThreshold.bytes {
            return try await QiniuPartsUpload(put: self, payload: payload, channel: channel).perform()
        }
        return try await sendForm(payload, channel)
    }

    // MARK: As a form

    private func sendForm(_ payload: QiniuPayload, _ channel: QiniuChannel) async throws(StoreError) -> QiniuObject {
        var checksum = CRC(.zlib)
        var etag = QiniuEtag()
        try await payload.read(0..<payload.size) { bytes in
            checksum.update(bytes)
            etag.update(bytes)
        }
        let fields = try options.namedFields()
        run.enter(.sending)
        var isRepeated = false
        while true {
            do throws(StoreError) {
                let (response, host) = try await channel.send(
                    .form, size: payload.size, isRepeatable: isRepeatable(channel.token)
                ) { call throws(StoreError) in
                    let form = form(payload, fields, token: call.token, checksum: checksum.value)
                    return UploadRequest(.post, "\(call.base)/", content: .form(form))
                }
                return try object(of: response, host, ownHash: etag.value, token: channel.token)
            } catch {
                // Send the form again once if the store rejected damaged bytes (406), or stored them.
                let isStored = error.status != 406
                guard error.code == .checksumMismatch, !isRepeated, !isStored || canReplace(channel.token)
                else { throw error }
                isRepeated = true
                if isStored { run.addStored(bytes: -payload.size) }
            }
        }
    }

    /// Whether a repeated form is harmless: the same bytes under a known key, and no side effects.
    private func isRepeatable(_ token: QiniuUploadToken) -> Bool { key != nil && !token.hasSideEffects }

    /// Whether an object that was stored with damaged bytes can be sent again, because the token permits replacing it.
    func canReplace(_ token: QiniuUploadToken) -> Bool {
        switch token.scope {
        case .key, .prefix: isRepeatable(token) && !token.isInsertOnly
        case .bucket, .newKey: false
        }
    }

    // Put the token before the file, so that the store can check it before it receives the content.
    private func form(
        _ payload: QiniuPayload, _ fields: [(name: String, value: String)], token: QiniuUploadToken, checksum: UInt64
    ) -> MultipartForm {
        var form: MultipartForm = [.text("token", token.text)]
        // Use raw bytes: line breaks in a text field would be converted to CRLF, which would change the key.
        if let key { form.append(.rawText("key", Array(key.utf8), isSecret: false)) }
        form.append(.text("crc32", String(checksum)))
        for field in fields { form.append(.rawText(field.name, Array(field.value.utf8), isSecret: false)) }
        switch payload.content {
        case .bytes(let bytes):
            form.append(.data("file", bytes, fileName: payload.fileName, contentType: payload.contentType))
        case .file(let file):
            form.append(
                .file("file", path: file.path, fileName: payload.fileName, contentType: payload.contentType))
        }
        return form
    }

    // MARK: The answer

    func publicURL(of key: String) -> String? {
        guard var domain = client.configuration.publicDomain else { return nil }
        while domain.hasSuffix("/") { domain.removeLast() }
        return "\(domain)/\(PercentEncoding.path(key))"
    }

    /// Parses the response and verifies the store's hash where possible.
    func object(
        of response: UploadResponse, _ host: String, ownHash: String?, token: QiniuUploadToken
    ) throws(StoreError) -> QiniuObject {
        let content = try? JSONDecoder().decode(ResponseContent.self, from: Data(response.body))
        var object = QiniuObject(
            key: content?.key, hash: content?.hash, body: response.body,
            requestID: response.headers[QiniuResponseParser.requestID], host: host)
        if let key = object.key { object.url = publicURL(of: key) }
        guard token.hasStandardResponse else { return object }
        guard let hash = content?.hash else {
            var error = StoreError(
                .unexpectedResponse,
                "The upload succeeded, but the response has no hash. Check whether the object exists.",
                outcome: .unknown)
            (error.host, error.requestID, error.status) = (host, object.requestID, response.status.code)
            throw error
        }
        if client.configuration.checksHash, let ownHash {
            guard hash == ownHash else {
                var error = StoreError(
                    .checksumMismatch,
                    "Checksum mismatch: the store reports \(StoreError.shown(hash)), expected \(ownHash). Upload the "
                        + "object again.")
                (error.host, error.requestID, error.status) = (host, object.requestID, response.status.code)
                throw error
            }
            object.isHashChecked = true
        }
        return object
    }

    private struct ResponseContent: Decodable {
        var key: String?
        var hash: String?

        enum CodingKeys: CodingKey { case key, hash }

        // A custom response can have any type under these names.
        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            key = try? values.decode(String.self, forKey: .key)
            hash = try? values.decode(String.self, forKey: .hash)
        }
    }
}
