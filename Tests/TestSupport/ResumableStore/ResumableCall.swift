extension ResumableServer {
    /// A request as the supported protocols interpret its head.
    struct Call: Sendable {
        let request: RecordedRequest
        let dialect: Dialect?
        /// The method, after `X-HTTP-Method-Override` (tus).
        let method: String
        let path: String
        /// The identifier in the path, if it is a path of uploads.
        let uploadID: String?
        let kind: Kind
        let offset: Int?
        let length: Int?
        let completes: Bool?
        /// The number of content bytes; `nil` if the content is chunked.
        let contentLength: Int?

        init(_ request: RecordedRequest, _ settings: Settings, _ state: State) {
            self.request = request
            let path = Self.path(of: request.target)
            self.path = path
            let id = Self.uploadID(in: path, settings)
            uploadID = id
            let upload = id.flatMap { state.upload($0) }
            let dialect = Self.dialect(of: request, settings, upload)
            let override = dialect == .tus ? request.value(of: "X-HTTP-Method-Override") : nil
            method = override ?? request.method
            let isChunked = request.value(of: "Transfer-Encoding") != nil
            contentLength = isChunked ? nil : Int(request.value(of: "Content-Length") ?? "0")

            let (offsets, lengths) = (request.values(of: "Upload-Offset"), request.values(of: "Upload-Length"))
            offset = dialect == .tus ? UploadFields.number(offsets) : UploadFields.integer(offsets)
            length = dialect == .tus ? UploadFields.number(lengths) : UploadFields.integer(lengths)
            completes = UploadFields.boolean(request.values(of: "Upload-Complete"))
            switch dialect {
            case nil: kind = method == "OPTIONS" ? .options : .ordinary
            case .tus?:
                var end: Int?
                if let offset, let contentLength { end = offset + contentLength }
                let whole = upload?.length ?? length
                kind = Self.tusKind(
                    method, id != nil, reachesEnd: whole.map { $0 <= end ?? -1 } ?? false,
                    isFinal: request.value(of: "Upload-Concat")?.hasPrefix("final;") == true)
            default: kind = Self.draftKind(method, id != nil, completes)
            }
            // Without a valid `Upload-Complete`, a request to another path does not use the draft.
            self.dialect = kind == .ordinary && id == nil && dialect != .tus ? nil : dialect
        }

        /// Whether the client waits for `100 Continue`.
        var expectsContinue: Bool { request.value(of: "Expect")?.lowercased() == "100-continue" }

        /// Whether the request has content.
        var hasContent: Bool { contentLength != 0 }

        /// Whether the field is present, even if its value is invalid.
        func has(_ name: String) -> Bool { request.value(of: name) != nil }

        /// Returns the identifier of an upload in a path, a URL or a relative reference, or `nil` if it has another path.
        static func uploadID(in text: String, _ settings: Settings) -> String? {
            var rest = path(of: text)[...]
            while rest.hasPrefix("../") { rest = rest.dropFirst(3) }
            let prefix = rest.hasPrefix("/") ? settings.uploadPrefix : String(settings.uploadPrefix.drop { $0 == "/" })
            guard rest.hasPrefix(prefix) else { return nil }
            let id = rest.dropFirst(prefix.count)
            return id.isEmpty || id.contains("/") ? nil : String(id)
        }

        /// Returns the path of a target, without the origin and the query.
        private static func path(of target: String) -> String {
            var rest = target.prefix { $0 != "?" }
            if let scheme = rest.firstRange(of: "://") { rest = rest[scheme.upperBound...].drop { $0 != "/" } }
            return String(rest)
        }

        private static func dialect(of request: RecordedRequest, _ settings: Settings, _ upload: Upload?) -> Dialect? {
            if settings.dialects.contains(.tus) {
                if request.value(of: "Tus-Resumable") != nil && request.method != "OPTIONS" { return .tus }
                let fields = ["Upload-Draft-Interop-Version", "Upload-Complete"]
                // Each request for such an upload has to name the version, so that its absence is an error.
                if upload?.dialect == .tus, request.method != "OPTIONS",
                    fields.allSatisfy({ request.value(of: $0) == nil })
                {
                    return .tus
                }
            }
            switch UploadFields.integer(request.values(of: "Upload-Draft-Interop-Version")) {
            case 8? where settings.dialects.contains(.draft8): return .draft8
            case 6? where settings.dialects.contains(.draft6): return .draft6
            default: return nil
            }
        }

        private static func tusKind(
            _ method: String, _ isUpload: Bool, reachesEnd: Bool, isFinal: Bool
        ) -> Kind {
            switch method {
            case "HEAD": .offset
            case "PATCH": reachesEnd ? .finish : .append
            case "DELETE": .delete
            case "POST" where !isUpload: isFinal ? .concatenate : .create
            default: .ordinary
            }
        }

        private static func draftKind(_ method: String, _ isUpload: Bool, _ completes: Bool?) -> Kind {
            guard isUpload else {
                let mayHaveContent = !["GET", "HEAD", "DELETE", "TRACE", "CONNECT"].contains(method)
                if completes != nil, mayHaveContent { return .create }
                return method == "OPTIONS" ? .options : .ordinary
            }
            return switch method {
            case "HEAD", "GET": .offset
            case "PATCH": completes == true ? .finish : .append
            case "DELETE": .delete
            case "OPTIONS": .options
            default: .ordinary
            }
        }
    }
}
