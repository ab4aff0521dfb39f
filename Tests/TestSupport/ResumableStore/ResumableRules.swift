extension ResumableServer {
    /// The result of a rule.
    enum Ruling: Sendable {
        /// The content is discarded, if there is any, and the response is sent.
        case respond(ScriptedResponse)
        /// The content is received, after an interim response if given.
        case receive(interim: ScriptedResponse? = nil)
        /// The application produces the response.
        case run(Run, Decoration)
        /// A later request has taken precedence: the connection is closed.
        case evicted
    }

    /// The fields that the server adds to a response of the application.
    struct Decoration: Sendable {
        /// The index of the upload that keeps the response.
        var upload: Int?
        /// The fields that replace those of the application.
        var fields: [(name: String, value: String)] = []
        /// The fields that are added if the application has not set them.
        var defaults: [(name: String, value: String)] = []

        func applied(to response: ScriptedResponse) -> ScriptedResponse {
            let missing = defaults.filter { !response.has($0.name) }
            return (fields + missing).reduce(response) { $0.setting($1.name, $1.value) }
        }
    }

    /// The rules of the protocols for one request. They read and change the state and perform no I/O.
    struct Rules: Sendable {
        let number: Int
        let call: Call
        let settings: Settings
        /// How many content bytes are stored at most, because the request is cut.
        var keeps = Int.max

        /// Handles the head of a request.
        func judge(_ state: inout State) -> Ruling {
            if settings.barredMethods.contains(call.request.method) {
                return .respond(ScriptedResponse(405, headers: [("Allow", "GET, POST")]))
            }
            if let limit = settings.proxyBodyLimit, call.contentLength ?? 0 > limit {
                return .respond(ScriptedResponse(413))
            }
            switch (call.kind, call.dialect) {
            case (.options, _): return .respond(options())
            case (.ordinary, nil): return ordinary(&state)
            case (.ordinary, _): return .respond(notAllowed())
            case (_, .tus?): return judgeTus(&state)
            default: return judgeDraft(&state)
            }
        }

        /// Performs a request whose content was received completely.
        func commit(trailers: [String], _ state: inout State) -> Ruling {
            guard let transfer = state.transfers[number] else { return .evicted }
            defer { state.release(number) }
            guard let index = transfer.upload else { return runOrdinary(&state) }
            guard state.uploads[index].owner == number else { return .evicted }
            // The sizes of other content are checked before it is received.
            if call.contentLength == nil, let refusal = sizeRefusal(transfer.received, state.uploads[index]) {
                return .respond(refusal)
            }
            return call.dialect == .tus
                ? commitTus(index, trailers, &state) : commitDraft(index, &state)
        }

        // MARK: Other requests

        private func options() -> ScriptedResponse {
            var fields: [(String, String)] = [("Allow", "OPTIONS, HEAD, GET, POST, PUT, PATCH, DELETE")]
            if settings.dialects.contains(.tus) {
                fields += [
                    ("Tus-Resumable", tusVersion), ("Tus-Version", settings.tusVersions.joined(separator: ",")),
                ]
                if !settings.tusExtensions.isEmpty {
                    fields.append(("Tus-Extension", settings.tusExtensions.joined(separator: ",")))
                }
                if let size = settings.limits.maxSize { fields.append(("Tus-Max-Size", "\(size)")) }
                if settings.tusExtensions.contains("checksum") {
                    fields.append(("Tus-Checksum-Algorithm", settings.tusChecksums.joined(separator: ",")))
                }
            }
            if let version = call.dialect?.interopVersion {
                fields.append(("Upload-Limit", settings.limits.field(interopVersion: version)))
            }
            return ScriptedResponse(204, headers: fields)
        }

        private func ordinary(_ state: inout State) -> Ruling {
            guard ["POST", "PUT", "PATCH"].contains(call.method) else {
                return .respond(call.uploadID == nil ? notAllowed() : ScriptedResponse(404))
            }
            return receiveOrdinary(&state)
        }

        /// Receives the content of an upload for which no resource is created.
        func receiveOrdinary(_ state: inout State) -> Ruling {
            state.begin(Transfer(), number, keeps: settings.keepsBodies)
            return .receive()
        }

        private func runOrdinary(_ state: inout State) -> Ruling {
            let run = Run(
                upload: nil, dialect: call.dialect, method: call.method, creation: call.request, metadata: [:],
                content: state.buffers[number] ?? Content(keeps: true))
            state.applicationRuns.append(run)
            return .run(run, Decoration(fields: call.dialect == nil ? [] : [("Upload-Complete", "?1")]))
        }

        private func notAllowed() -> ScriptedResponse {
            guard call.dialect != .tus else { return tus(405) }
            let allowed = call.uploadID == nil ? "OPTIONS, POST, PUT, PATCH" : "OPTIONS, HEAD, PATCH, DELETE"
            return ScriptedResponse(405, headers: [("Allow", allowed)])
        }

        // MARK: Shared by both protocols

        /// The upload of a request, or the response if it is not accessible. Older transfers of it are ended.
        func find(_ state: inout State, isTus: Bool) -> Result<Int, Refusal> {
            guard let id = call.uploadID, let index = state.index(of: id),
                (state.uploads[index].dialect == .tus) == isTus
            else { return .failure(Refusal(status: 404)) }
            let upload = state.uploads[index]
            if let status = upload.goneStatus { return .failure(Refusal(status: status)) }
            if upload.isComplete, !settings.keepsCompleted {
                return .failure(Refusal(status: settings.goneStatus))
            }
            guard upload.locks == 0 else {
                state.uploads[index].locks -= 1
                return .failure(Refusal(status: 423))
            }
            state.evict(from: index, by: number)
            return .success(index)
        }

        /// A status without content.
        struct Refusal: Error {
            let status: Int
        }

        /// Deletes an upload.
        func delete(_ index: Int, _ state: inout State) {
            state.uploads[index].isDeleted = true
            state.uploads[index].goneStatus = settings.goneStatus
        }

        /// Invalidates an upload.
        func invalidate(_ index: Int, _ state: inout State) {
            state.uploads[index].isInvalid = true
            state.uploads[index].goneStatus = settings.goneStatus
        }

        /// Starts receiving content for an upload.
        func receive(_ index: Int, isCreation: Bool, isStaged: Bool, _ state: inout State) {
            let upload = state.uploads[index]
            let limits = settings.limits
            let isLimited =
                limits.maxAppend ?? limits.minAppend ?? settings.appendMultiple
                ?? settings.proxyBodyLimit != nil
            var transfer = Transfer(upload: index, limit: upload.length ?? limits.maxSize ?? .max, keeps: keeps)
            transfer.isStaged =
                isStaged || settings.storesOnlyWholeRequests || (call.contentLength == nil && isLimited)
            transfer.vanishes = isCreation && settings.storesOnlyWholeRequests
            state.begin(transfer, number, keeps: settings.keepsBodies)
        }

        /// Returns the response to content of a size that violates a limit, or `nil`.
        func sizeRefusal(_ size: Int, _ upload: Upload?) -> ScriptedResponse? {
            let limits = settings.limits
            if let limit = settings.proxyBodyLimit, size > limit { return ScriptedResponse(413) }
            if let limit = limits.maxAppend, size > limit { return refusal(413, upload) }
            let isEmptyCreation = call.kind == .create && size == 0
            guard call.kind != .finish, call.completes != true, !isEmptyCreation else { return nil }
            if call.dialect == .tus, let upload, upload.length == upload.offset + size { return nil }
            if let limit = limits.minAppend, size < limit { return refusal(400, upload) }
            if let multiple = settings.appendMultiple, size % multiple != 0 { return refusal(400, upload) }
            return nil
        }

        /// Returns a rejection that does not change the upload.
        func refusal(_ status: Int, _ upload: Upload?) -> ScriptedResponse {
            call.dialect == .tus
                ? tus(status) : draft(status, offset: upload?.offset)
        }

        /// Returns `Location` of an upload.
        func location(_ upload: Upload) -> String {
            switch settings.location {
            case .path: return upload.path
            case .absolute: return "http://\(upload.creation.value(of: "Host") ?? "127.0.0.1")\(upload.path)"
            case .origin(let origin): return origin + upload.path
            case .relative:
                let depth = call.path.filter { $0 == "/" }.count - 1
                return String(repeating: "../", count: max(0, depth)) + upload.path.drop { $0 == "/" }
            }
        }
    }
}
