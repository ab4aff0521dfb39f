/// The rules of draft-ietf-httpbis-resumable-upload, interop versions 6 and 8.
extension ResumableServer.Rules {
    typealias Server = ResumableServer

    private var version: Int { call.dialect?.interopVersion ?? 8 }
    private var isOld: Bool { version < 7 }
    private var limitField: (String, String) { ("Upload-Limit", settings.limits.field(interopVersion: version)) }

    /// Handles the head of a request.
    func judgeDraft(_ state: inout Server.State) -> Server.Ruling {
        if call.kind == .create { return createDraft(&state) }
        let index: Int
        switch find(&state, isTus: false) {
        case .failure(let refusal): return .respond(ScriptedResponse(refusal.status))
        case .success(let found): index = found
        }
        switch call.kind {
        case .offset: return offsetDraft(state.uploads[index])
        case .delete:
            // Section "Upload Cancellation" of draft -05.
            guard !isOld || (!call.has("Upload-Offset") && !call.has("Upload-Complete")) else {
                return .respond(ScriptedResponse(400))
            }
            delete(index, &state)
            return .respond(ScriptedResponse(204))
        default: return appendDraft(index, &state)
        }
    }

    // MARK: Creation

    private func createDraft(_ state: inout Server.State) -> Server.Ruling {
        let completes = call.completes == true
        var length = call.length
        if completes, let size = call.contentLength {
            guard length == nil || length == size else { return .respond(inconsistentLength(nil)) }
            length = size
        }
        if isOld, call.has("Upload-Offset") { return .respond(draft(400)) }
        let limits = settings.limits
        if let limit = limits.maxSize, length ?? 0 > limit { return .respond(draft(413)) }
        if let limit = limits.minSize, length ?? 0 < limit {
            // The representation is accepted, but without an upload resource.
            return completes ? receiveOrdinary(&state) : .respond(draft(400))
        }
        if let size = call.contentLength {
            if let refusal = sizeRefusal(size, nil) { return .respond(refusal) }
            if let length, size > length { return .respond(inconsistentLength(nil)) }
        }
        let index = state.create(call, call.dialect ?? .draft8, settings, number)
        state.uploads[index].length = length
        receive(index, isCreation: true, isStaged: call.has("Content-Digest"), &state)
        guard settings.sendsInterim else { return .receive() }
        return .receive(
            interim: ScriptedResponse(
                104,
                headers: [
                    ("Location", location(state.uploads[index])), limitField,
                    ("Upload-Draft-Interop-Version", "\(version)"),
                ]))
    }

    // MARK: Offset retrieval

    private func offsetDraft(_ upload: Server.Upload) -> Server.Ruling {
        if isOld {
            // Section "Offset Retrieval" of draft -05.
            guard call.method == "HEAD" else {
                return .respond(ScriptedResponse(405, headers: [("Allow", "OPTIONS, HEAD, PATCH, DELETE")]))
            }
            let forbidden = ["Upload-Offset", "Upload-Complete", "Upload-Length"]
            guard !forbidden.contains(where: call.has) else { return .respond(ScriptedResponse(400)) }
        }
        var fields = [
            ("Upload-Complete", upload.isComplete ? "?1" : "?0"), ("Upload-Offset", "\(upload.offset)"), limitField,
            ("Cache-Control", "no-store"),
        ]
        if let length = upload.length { fields.append(("Upload-Length", "\(length)")) }
        return .respond(ScriptedResponse(settings.offsetStatus, headers: fields))
    }

    // MARK: Append

    private func appendDraft(_ index: Int, _ state: inout Server.State) -> Server.Ruling {
        let upload = state.uploads[index]
        guard UploadFields.mediaType(call.request.value(of: "Content-Type")) == "application/partial-upload" else {
            let fields = [("Accept-Patch", "application/partial-upload"), ("Upload-Complete", "?0")]
            return .respond(ScriptedResponse(415, headers: fields))
        }
        // Draft -05 takes an append without `Upload-Complete` for an incomplete one.
        guard let offset = call.offset, call.completes != nil || isOld else { return .respond(draft(400)) }
        if upload.isComplete, isOld {
            return .respond(problem(400, "completed-upload", "upload is already completed", nil))
        }
        guard offset == upload.offset else { return .respond(mismatch(offset, upload)) }
        if upload.isComplete { return replay(index, state) }

        var length = call.length
        if call.completes == true, let size = call.contentLength {
            guard length == nil || length == offset + size else { return .respond(inconsistentLength(upload)) }
            length = offset + size
        }
        if let known = upload.length, let end = call.contentLength.map({ offset + $0 }), end > known {
            return .respond(beyondLength(index, &state))
        }
        if let length {
            guard length == upload.length ?? length, length >= offset else {
                return .respond(inconsistentLength(upload))
            }
            if let limit = settings.limits.maxSize, length > limit { return .respond(draft(413, offset: offset)) }
            if let size = call.contentLength, offset + size > length { return .respond(inconsistentLength(upload)) }
        }
        if let size = call.contentLength, let refusal = sizeRefusal(size, upload) { return .respond(refusal) }
        if let length { state.uploads[index].length = length }
        receive(index, isCreation: false, isStaged: call.has("Content-Digest"), &state)
        return .receive()
    }

    private func replay(_ index: Int, _ state: Server.State) -> Server.Ruling {
        guard call.completes == true, !call.hasContent, settings.replaysResponse else {
            return .respond(draft(400, offset: state.uploads[index].offset))
        }
        if let response = state.uploads[index].response { return .respond(response) }
        return .run(state.run(of: index), decoration(index, state))
    }

    // MARK: After the content

    /// Performs a request whose content was received completely.
    func commitDraft(_ index: Int, _ state: inout Server.State) -> Server.Ruling {
        if state.transfers[number]?.isStaged == true, let bytes = state.buffers[number]?.bytes,
            !UploadFields.matches(call.request.values(of: "Content-Digest"), bytes)
        {
            return .respond(draft(400, offset: state.uploads[index].offset))
        }
        state.storeStaged(number)
        let upload = state.uploads[index]
        if state.transfers[number]?.isExceeded == true {
            if upload.length != nil { return .respond(beyondLength(index, &state)) }
            invalidate(index, &state)
            return .respond(draft(413))
        }
        guard call.completes == true else { return .respond(accepted(upload)) }
        guard upload.length ?? upload.offset == upload.offset else {
            return .respond(inconsistentLength(upload))
        }
        if let bytes = upload.content.bytes,
            !UploadFields.matches(upload.creation.values(of: "Repr-Digest"), bytes)
        {
            invalidate(index, &state)
            return .respond(draft(400))
        }
        state.uploads[index].length = upload.offset
        state.uploads[index].isComplete = true
        let run = state.run(of: index)
        state.applicationRuns.append(run)
        return .run(run, decoration(index, state))
    }

    /// Returns the response to content that was stored and does not complete the upload.
    private func accepted(_ upload: Server.Upload) -> ScriptedResponse {
        var fields = [("Upload-Complete", "?0"), limitField]
        if isOld || settings.reportsOffsets { fields.append(("Upload-Offset", "\(upload.offset)")) }
        if call.kind == .create { fields.append(("Location", location(upload))) }
        return ScriptedResponse(call.kind == .create || isOld ? 201 : 204, headers: fields)
    }

    private func decoration(_ index: Int, _ state: Server.State) -> Server.Decoration {
        let upload = state.uploads[index]
        var decoration = Server.Decoration(upload: index, fields: [("Upload-Complete", "?1")])
        if isOld {
            decoration.fields.append(("Upload-Offset", "\(upload.offset)"))
            if call.kind == .create { decoration.defaults.append(("Location", location(upload))) }
        }
        if let wanted = upload.creation.value(of: "Want-Repr-Digest"), wanted.contains("sha-256"),
            let bytes = upload.content.bytes
        {
            decoration.defaults.append(("Repr-Digest", UploadFields.reprDigest(bytes)))
        }
        return decoration
    }

    // MARK: Rejections

    /// Returns a response of the protocol, not of the application.
    func draft(_ status: Int, offset: Int? = nil) -> ScriptedResponse {
        var fields = [("Upload-Complete", "?0"), limitField]
        if let offset { fields.append(("Upload-Offset", "\(offset)")) }
        return ScriptedResponse(status, headers: fields)
    }

    private func mismatch(_ offset: Int, _ upload: Server.Upload) -> ScriptedResponse {
        problem(
            409, "mismatching-upload-offset", "offset from request does not match offset of resource", upload,
            members: #","expected-offset":\#(upload.offset),"provided-offset":\#(offset)"#)
    }

    private func inconsistentLength(_ upload: Server.Upload?) -> ScriptedResponse {
        guard !isOld else { return draft(400, offset: upload?.offset) }
        return problem(400, "inconsistent-upload-length", "inconsistent length values for upload", upload)
    }

    /// Draft -05 rejects the request; later drafts invalidate the upload, too.
    private func beyondLength(_ index: Int, _ state: inout Server.State) -> ScriptedResponse {
        if isOld { return draft(400, offset: state.uploads[index].offset) }
        invalidate(index, &state)
        return draft(400)
    }

    private func problem(
        _ status: Int, _ type: String, _ title: String, _ upload: Server.Upload?, members: String = ""
    ) -> ScriptedResponse {
        var fields = [("Content-Type", "application/problem+json"), ("Upload-Complete", "?0")]
        if let upload { fields.append(("Upload-Offset", "\(upload.offset)")) }
        let type = "https://iana.org/assignments/http-problem-types#\(type)"
        return ScriptedResponse(
            status, headers: fields, text: #"{"type":"\#(type)","title":"\#(title)"\#(members)}"#)
    }
}
