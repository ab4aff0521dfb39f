/// The rules of tus 1.0.0 with its extensions.
extension ResumableServer.Rules {
    /// The version in the responses.
    var tusVersion: String { settings.tusVersions.first ?? "1.0.0" }

    /// Handles the head of a request.
    func judgeTus(_ state: inout Server.State) -> Server.Ruling {
        let versions = call.request.values(of: "Tus-Resumable")
        guard versions.count == 1, settings.tusVersions.contains(versions[0]) else {
            return .respond(tus(412, [("Tus-Version", settings.tusVersions.joined(separator: ","))]))
        }
        if [.create, .concatenate].contains(call.kind) { return createTus(&state) }
        switch find(&state, isTus: true) {
        case .failure(let refusal): return .respond(tus(refusal.status))
        case .success(let index):
            switch call.kind {
            case .offset: return .respond(offsetTus(state.uploads[index]))
            case .delete:
                guard settings.tusExtensions.contains("termination") else { return .respond(tus(405)) }
                delete(index, &state)
                return .respond(tus(204))
            default: return appendTus(index, &state)
            }
        }
    }

    /// Returns a response of the protocol.
    func tus(_ status: Int, _ fields: [(String, String)] = []) -> ScriptedResponse {
        ScriptedResponse(status, headers: [("Tus-Resumable", tusVersion)] + fields)
    }

    // MARK: Creation

    private func createTus(_ state: inout Server.State) -> Server.Ruling {
        guard settings.tusExtensions.contains("creation") else { return .respond(tus(405)) }
        let part = call.request.value(of: "Upload-Concat")
        if let part, !settings.tusExtensions.contains("concatenation") || !isPart(part) { return .respond(tus(400)) }
        var metadata: [String: [UInt8]] = [:]
        if let text = call.request.value(of: "Upload-Metadata") {
            guard call.request.values(of: "Upload-Metadata").count == 1, let pairs = UploadFields.metadata(text) else {
                return .respond(tus(400))
            }
            metadata = pairs
        }
        if let part, part != "partial" { return concatenate(part, metadata, &state) }

        guard hasValidLength else { return .respond(tus(400)) }
        let length = call.length
        if let limit = settings.limits.maxSize, length ?? 0 > limit { return .respond(tus(413)) }
        let storesContent = call.hasContent && settings.tusExtensions.contains("creation-with-upload")
        if storesContent {
            guard hasMediaType else { return .respond(tus(415)) }
            if let size = call.contentLength {
                if length != size, let refusal = sizeRefusal(size, nil) { return .respond(refusal) }
                if let length, size > length { return .respond(tus(400)) }
            }
            if let refusal = checksumRefusal() { return .respond(refusal) }
        }
        let index = state.create(call, .tus, settings, number)
        state.uploads[index].metadata = metadata
        state.uploads[index].part = part == nil ? .whole : .partial
        state.uploads[index].length = length
        state.completeIfWhole(index)
        guard storesContent else { return .respond(created(state.uploads[index], withOffset: false)) }
        receive(index, isCreation: true, isStaged: stages(state.uploads[index]), &state)
        return .receive()
    }

    /// Whether a creation has either a valid `Upload-Length` or a valid `Upload-Defer-Length`.
    private var hasValidLength: Bool {
        let deferred = call.request.values(of: "Upload-Defer-Length")
        if deferred.isEmpty { return call.length != nil }
        let isAllowed = settings.tusExtensions.contains("creation-defer-length")
        return isAllowed && deferred == ["1"] && !call.has("Upload-Length")
    }

    private func created(_ upload: Server.Upload, withOffset: Bool) -> ScriptedResponse {
        let offset = withOffset ? [("Upload-Offset", "\(upload.offset)")] : []
        return tus(201, [("Location", location(upload))] + offset + expiry(upload))
    }

    private func expiry(_ upload: Server.Upload) -> [(String, String)] {
        guard let date = settings.uploadExpires, !upload.isComplete else { return [] }
        return [("Upload-Expires", date)]
    }

    private func isPart(_ text: String) -> Bool { text == "partial" || text.hasPrefix("final;") }

    // MARK: Concatenation

    private func concatenate(
        _ part: String, _ metadata: [String: [UInt8]], _ state: inout Server.State
    ) -> Server.Ruling {
        let urls = part.dropFirst("final;".utf8.count).split(separator: " ")
        guard !urls.isEmpty, !call.has("Upload-Length"), !call.has("Upload-Defer-Length"), !call.hasContent else {
            return .respond(tus(400))
        }
        var whole = Server.Content(keeps: settings.keepsBodies)
        var parts: [String] = []
        for url in urls {
            guard let id = Server.Call.uploadID(in: String(url), settings), let upload = state.upload(id),
                upload.part == .partial, upload.goneStatus == nil, upload.isComplete
            else { return .respond(tus(400)) }
            whole.append(upload.content)
            parts.append(id)
        }
        if let limit = settings.limits.maxSize, whole.size > limit { return .respond(tus(413)) }
        let index = state.create(call, .tus, settings, number)
        state.uploads[index].metadata = metadata
        state.uploads[index].part = .final
        state.uploads[index].length = whole.size
        state.uploads[index].content = whole
        state.completeIfWhole(index)
        if !settings.keepsParts {
            for part in parts { state.forget(part, status: settings.goneStatus) }
        }
        return .respond(created(state.uploads[index], withOffset: false))
    }

    // MARK: Offset retrieval

    private func offsetTus(_ upload: Server.Upload) -> ScriptedResponse {
        var fields = [("Upload-Offset", "\(upload.offset)"), ("Cache-Control", "no-store")]
        if let length = upload.length {
            fields.append(("Upload-Length", "\(length)"))
        } else {
            fields.append(("Upload-Defer-Length", "1"))
        }
        for name in ["Upload-Metadata", "Upload-Concat"] {
            if let value = upload.creation.value(of: name) { fields.append((name, value)) }
        }
        return tus(200, fields)
    }

    // MARK: Append

    private func appendTus(_ index: Int, _ state: inout Server.State) -> Server.Ruling {
        let upload = state.uploads[index]
        guard upload.part != .final else { return .respond(tus(403)) }
        guard hasMediaType else { return .respond(tus(415)) }
        guard let offset = call.offset else { return .respond(tus(400)) }
        guard offset == upload.offset else { return .respond(tus(409)) }
        if call.has("Upload-Length") {
            guard let length = call.length, length == upload.length ?? length, length >= offset else {
                return .respond(tus(400))
            }
            if let limit = settings.limits.maxSize, length > limit { return .respond(tus(413)) }
        }
        let length = upload.length ?? call.length
        if let size = call.contentLength {
            if let length, offset + size > length { return .respond(tus(400)) }
            if let refusal = sizeRefusal(size, upload) { return .respond(refusal) }
        }
        if let refusal = checksumRefusal() { return .respond(refusal) }
        state.uploads[index].length = length
        state.completeIfWhole(index)
        receive(index, isCreation: false, isStaged: stages(state.uploads[index]), &state)
        return .receive()
    }

    private var hasMediaType: Bool {
        UploadFields.mediaType(call.request.value(of: "Content-Type")) == "application/offset+octet-stream"
    }

    /// Whether the content is checked before it is stored. Chunked content could go beyond the length.
    private func stages(_ upload: Server.Upload) -> Bool {
        let announcesTrailer = call.request.value(of: "Trailer")?.lowercased() == "upload-checksum"
        return call.has("Upload-Checksum") || announcesTrailer || (call.contentLength == nil && upload.length != nil)
    }

    /// Returns the response to a checksum that cannot be verified, or `nil`.
    private func checksumRefusal() -> ScriptedResponse? {
        guard settings.tusExtensions.contains("checksum"), let text = call.request.value(of: "Upload-Checksum") else {
            return nil
        }
        guard let checksum = UploadFields.checksum(text), settings.tusChecksums.contains(checksum.algorithm) else {
            return tus(400)
        }
        return nil
    }

    // MARK: After the content

    /// Performs a request whose content was received completely.
    func commitTus(_ index: Int, _ trailers: [String], _ state: inout Server.State) -> Server.Ruling {
        let upload = state.uploads[index]
        if let transfer = state.transfers[number], transfer.isStaged, let bytes = state.buffers[number]?.bytes {
            if let status = checksumFailure(bytes, trailers) { return .respond(tus(status)) }
            guard bytes.count <= transfer.limit - upload.offset else {
                return .respond(tus(upload.length == nil ? 413 : 400))
            }
            state.storeStaged(number)
        }
        if state.transfers[number]?.isExceeded == true {
            invalidate(index, &state)
            return .respond(tus(413))
        }
        let stored = state.uploads[index]
        guard call.kind != .create else { return .respond(created(stored, withOffset: true)) }
        return .respond(tus(204, [("Upload-Offset", "\(stored.offset)")] + expiry(stored)))
    }

    /// Returns the status for content that does not match its checksum, or `nil`.
    private func checksumFailure(_ bytes: [UInt8], _ trailers: [String]) -> Int? {
        guard settings.tusExtensions.contains("checksum") else { return nil }
        let trailer = trailers.first { $0.lowercased().hasPrefix("upload-checksum:") }
        guard
            let text = call.request.value(of: "Upload-Checksum")
                ?? trailer.map({ String($0.dropFirst("upload-checksum:".utf8.count).trimmingWhitespace) })
        else { return nil }
        guard let checksum = UploadFields.checksum(text), settings.tusChecksums.contains(checksum.algorithm),
            let actual = UploadFields.digest(checksum.algorithm, bytes)
        else { return 400 }
        return actual == checksum.value ? nil : 460
    }
}
