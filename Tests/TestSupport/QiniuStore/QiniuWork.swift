internal import FoundationEssentials

/// Performs the authorized requests of a ``QiniuStore``.
struct QiniuWork {
    let call: QiniuCall
    let settings: QiniuStoreSettings
    let gate: QiniuAuthenticator
    let body: QiniuBytes

    /// Performs the request and returns the response.
    ///
    /// - Throws: ``QiniuErrorResponse``.
    func perform(_ state: inout QiniuState) throws -> String {
        switch call.operation {
        case .form: return try form(&state)
        case .begin:
            let policy = try policy()
            try gate.check(call.key, policy)
            let id = "upload-\(state.nextUpload)"
            state.nextUpload += 1
            let expires = settings.now() + settings.uploadLifetime
            state.uploads[id] = QiniuOpenUpload(bucket: call.bucket, key: call.key, expires: expires)
            return #"{"uploadId":"\#(id)","expireAt":\#(expires)}"#
        case .part: return try part(&state)
        case .list: return try list(state)
        case .complete: return try complete(&state)
        case .abort:
            _ = try policy()
            guard let id = call.uploadID, state.uploads.removeValue(forKey: id) != nil else {
                throw QiniuErrorResponse.noSuchUpload
            }
            state.aborted.append(id)
            return "{}"
        case .stat:
            try gate.checkManagement(call.request)
            guard let key = call.key, let object = state.objects[QiniuState.Name(bucket: call.bucket, key: key)] else {
                throw QiniuErrorResponse(612, "no such file or directory")
            }
            return
                #"{"fsize":\#(object.content.size),"hash":"\#(object.hash)","mimeType":\#(QiniuText.json(object.type)),"#
                + #""putTime":1,"type":0}"#
        case .regions, .unknown: throw QiniuErrorResponse(404, "no such page")
        }
    }

    private func policy() throws -> QiniuStorePolicy {
        let policy = try gate.policy(gate.token(of: call.request))
        guard policy.bucket == call.bucket else { throw QiniuErrorResponse(403, "bucket doesn't match scope") }
        return policy
    }

    private func upload(_ state: QiniuState) throws -> (id: String, upload: QiniuOpenUpload) {
        guard let id = call.uploadID, let upload = state.uploads[id], upload.bucket == call.bucket,
            upload.key == call.key, upload.expires > settings.now()
        else { throw QiniuErrorResponse.noSuchUpload }
        return (id, upload)
    }

    private func part(_ state: inout QiniuState) throws -> String {
        _ = try policy()
        let (id, _) = try upload(state)
        let number = call.part ?? 0
        if let md5 = call.request.value(of: "Content-MD5"), md5 != body.md5 {
            throw QiniuErrorResponse(406, "md5 does not match")
        }
        state.uploads[id]?.parts[number] = body
        state.counts[QiniuPartName(uploadID: id, number: number)]?.stored += 1
        return #"{"etag":"\#(body.etag)","md5":"\#(body.md5)"}"#
    }

    private func list(_ state: QiniuState) throws -> String {
        _ = try policy()
        let (id, upload) = try upload(state)
        let marker = call.query("part-number-marker").flatMap { Int($0) } ?? 0
        let most = min(call.query("max-parts").flatMap { Int($0) } ?? 1_000, settings.largestPage)
        let all = upload.parts.keys.filter { $0 > marker }.sorted()
        let page = all.prefix(most)
        let parts = page.map { number in
            let part = upload.parts[number]!
            return #"{"size":\#(part.size),"etag":"\#(part.etag)","partNumber":\#(number),"putTime":1}"#
        }
        let next = page.count < all.count ? page.last! : 0
        return #"{"uploadId":"\#(id)","expireAt":\#(upload.expires),"partNumberMarker":\#(next),"#
            + #""parts":[\#(parts.joined(separator: ","))]}"#
    }

    private func complete(_ state: inout QiniuState) throws -> String {
        let policy = try policy()
        let (id, upload) = try upload(state)
        guard let bytes = body.bytes,
            let completion = try? JSONDecoder().decode(Completion.self, from: Data(bytes)), !completion.parts.isEmpty
        else { throw QiniuErrorResponse(400, "invalid json") }
        let numbers = completion.parts.map(\.partNumber)
        guard numbers == Set(numbers).sorted() else { throw QiniuErrorResponse(400, "parts are not in order") }
        var pieces: [QiniuBytes] = []
        for (place, part) in completion.parts.enumerated() {
            guard let piece = upload.parts[part.partNumber], piece.etag == part.etag else {
                throw QiniuErrorResponse(400, "invalid part \(part.partNumber)")
            }
            guard place == completion.parts.count - 1 || piece.size >= settings.smallestPart else {
                throw QiniuErrorResponse(400, "part \(part.partNumber) is too small")
            }
            pieces.append(piece)
        }
        var object = QiniuStoredObject()
        object.content.size = pieces.reduce(0) { $0 + $1.size }
        let areWhole = pieces.dropLast().allSatisfy { $0.size % (4 << 20) == 0 }
        object.content.blocks = pieces.flatMap(\.blocks)
        if pieces.allSatisfy({ $0.bytes != nil }) {
            object.content.bytes = pieces.flatMap { $0.bytes! }
            object.content.crc32 = QiniuBytes(of: object.content.bytes!).crc32
        }
        object.hash = areWhole ? object.content.etag : "odd" + object.content.etag.dropFirst(3)
        object.type = completion.mimeType ?? "application/octet-stream"
        object.fileName = completion.fname ?? ""
        object.metadata = completion.metadata ?? completion.metaData ?? [:]
        object.variables = completion.customVars ?? [:]
        let answer = try make(object, key: call.key, policy, &state)
        state.uploads[id] = nil
        return answer
    }

    private func form(_ state: inout QiniuState) throws -> String {
        guard let bytes = body.bytes,
            let form = try? OSSForm(bytes, contentType: call.request.value(of: "Content-Type") ?? "")
        else { throw QiniuErrorResponse(400, "invalid multipart format") }
        guard let token = form.value("token") else { throw QiniuErrorResponse(400, "token not specified") }
        guard let fileName = form.file.filename else { throw QiniuErrorResponse(400, "file is not a file") }
        let policy = try gate.policy(token)
        let key = form.fields.first { $0.name == "key" }?.value
        try gate.check(key, policy)
        var object = QiniuStoredObject()
        object.content = QiniuBytes(of: form.file.value)
        if object.content.size > settings.keepsBodiesUpTo { object.content.bytes = nil }
        if let text = form.value("crc32"), UInt32(text) != object.content.crc32 {
            throw QiniuErrorResponse(406, "crc32 does not match")
        }
        object.hash = object.content.etag
        object.type = form.file.contentType ?? "application/octet-stream"
        object.fileName = fileName
        for field in form.fields {
            let value = field.value.text
            object.fields[field.name] = value
            if field.name.hasPrefix("x:") { object.variables[field.name] = value }
            if field.name.hasPrefix("x-qn-meta-") { object.metadata[field.name] = value }
        }
        return try make(object, key: key, policy, &state)
    }

    /// Creates an object according to a policy and returns the response.
    private func make(
        _ object: QiniuStoredObject, key: [UInt8]?, _ policy: QiniuStorePolicy, _ state: inout QiniuState
    ) throws -> String {
        if let most = policy.fsizeLimit, object.content.size > most {
            throw QiniuErrorResponse(413, "request entity too large: fsizeLimit")
        }
        if let least = policy.fsizeMin, object.content.size < least {
            throw QiniuErrorResponse(403, "file is smaller than fsizeMin")
        }
        if let types = policy.mimeLimit, !Self.allows(types, object.type) {
            throw QiniuErrorResponse(403, "limited mimeType: this file type is forbidden to upload")
        }
        var object = object
        var known = [
            "etag": object.hash, "fname": object.fileName, "fsize": "\(object.content.size)", "mimeType": object.type,
            "bucket": policy.bucket,
        ]
        for (name, value) in object.variables { known[name] = value }
        let save = policy.saveKey.map { Array(Self.filled($0, known) { $0 }.utf8) }
        let name = (policy.forceSaveKey == true ? save : key ?? save) ?? Array(object.hash.utf8)
        known["key"] = name.text
        let place = QiniuState.Name(bucket: policy.bucket, key: name)
        let old = state.objects[place]
        let mayOverwrite = policy.scopeKey != nil && (policy.insertOnly ?? 0) == 0
        if let old, !mayOverwrite, old.hash != object.hash { throw QiniuErrorResponse(614, "file exists") }
        object.timesStored = (old?.timesStored ?? 0) + 1
        state.objects[place] = object
        if policy.callbackUrl != nil { return settings.callbackResponse }
        if let text = policy.returnBody {
            return Self.filled(text, known) { Int($0) == nil ? QiniuText.json($0) : $0 }
        }
        return #"{"hash":"\#(object.hash)","key":\#(QiniuText.json(name.text))}"#
    }

    /// Returns a text with its magic variables replaced.
    private static func filled(_ text: String, _ known: [String: String], _ write: (String) -> String) -> String {
        var result = ""
        var rest = text[...]
        while let open = rest.firstRange(of: "$("), let close = rest[open.upperBound...].firstIndex(of: ")") {
            result += rest[..<open.lowerBound]
            result += write(known[String(rest[open.upperBound..<close])] ?? "")
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }

    private static func allows(_ limit: String, _ type: String) -> Bool {
        let isRefusal = limit.hasPrefix("!")
        let fits = limit.drop { $0 == "!" }.split(separator: ";").contains { entry in
            entry.hasSuffix("/*") ? type.hasPrefix(entry.dropLast()) : type == entry
        }
        return fits != isRefusal
    }

    private struct Completion: Decodable {
        struct Part: Decodable {
            var etag: String
            var partNumber: Int
        }
        var parts: [Part]
        var fname: String?
        var mimeType: String?
        var metadata: [String: String]?
        var metaData: [String: String]?
        var customVars: [String: String]?
    }
}
