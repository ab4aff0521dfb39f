import Glibc
import WaybillCore

/// The content of a part after all work on it is done.
enum ReadyContent: Sendable {
    case bytes([UInt8])
    case file(FileSlice)
    case stream(StreamSource)

    var count: Int64? {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let slice): slice.count
        case .stream(let stream): stream.length
        }
    }

    /// Returns the first bytes, to detect their type; `nil` for a stream.
    func beginning() async throws(BodyError) -> [UInt8]? {
        switch self {
        case .bytes(let bytes): return Array(bytes.prefix(MagicBytes.needed))
        case .stream: return nil
        case .file(let slice):
            let count = Int(min(Int64(MagicBytes.needed), slice.count))
            return try await ReaderPool.shared.run(reading: slice.source.path, at: slice.source.location) {
                () throws(BodyError) in
                try slice.source.prefix(count, from: slice.range.lowerBound)
            }
        }
    }
}

/// Prepares parts with the settings of a form.
struct PartResolver {
    let form: MultipartForm

    /// Prepares the part of the form at an index.
    func resolve(_ index: Int) async throws(BodyError) -> (part: MultipartPart, content: ReadyContent) {
        guard !Task.isCancelled else { throw BodyError.taskCancelled }
        let (part, content) = try await resolve(
            form.parts[index], at: PartLocation(index: index, name: form.parts[index].name))
        return (part, content)
    }

    /// Prepares the content of a part and returns it with the part, whose names and type then match the content.
    func resolve(_ part: MultipartPart, at location: PartLocation) async throws(BodyError) -> (
        MultipartPart, ReadyContent
    ) {
        var (part, content) = try await made(part, at: location)
        if part.followsContent, let beginning = try await content.beginning() {
            part.follow(MagicBytes.type(of: beginning), form.contentTypes)
        }
        if part.contentType == nil { part.contentType = part.typeFromName(form.contentTypes) }
        try await check(part, content, at: location)
        return (part, content)
    }

    private func made(
        _ original: MultipartPart, at location: PartLocation
    ) async throws(BodyError) -> (MultipartPart, ReadyContent) {
        switch original.content {
        case .text, .secret, .rawText, .bytes: return (original, original.content.ready ?? .bytes([]))
        case .file(let path, let range):
            return (original, .file(try await Self.inspect(path, range, at: location)))
        case .stream(let stream): return (original, try await ready(stream, at: location))
        case .encoding(let encode):
            do {
                return (original, .bytes(try encode()))
            } catch let error as BodyError where error.code == .nestedTooDeep {
                throw BodyError(error.code, error.message, at: location)
            } catch {
                throw BodyError(
                    .encodingFailed, "The value cannot be encoded as JSON: \(BodyError.reason(of: error))",
                    at: location,
                    cause: error)
            }
        case .preparing(let preparation): return try await prepared(original, by: preparation, at: location)
        case .refused(let code, let message): throw BodyError(code, message, at: location)
        }
    }

    private func ready(_ stream: PartStream, at location: PartLocation) async throws(BodyError) -> ReadyContent {
        try stream.checkLength(at: location)
        let directory = form.temporaryDirectory
        switch (stream.length, form.unknownLength.choice) {
        case (nil, .fail):
            throw BodyError(
                .unknownLength,
                "The length of the stream is unknown, but this form requires it. \(Remedy.provideStreamLength)",
                at: location)
        case (nil, .spill(let threshold)):
            let spill = StreamSpill(threshold: threshold, at: location) { () throws(BodyError) in
                try SpillFile(in: directory, at: location)
            }
            return try await spill.read(stream.origin.pump(at: location))
        default:
            return .stream(
                StreamSource(
                    stream.origin, length: stream.length, replay: stream.replay, directory: directory, at: location))
        }
    }

    private func prepared(
        _ original: MultipartPart, by preparation: any PartPreparing, at location: PartLocation
    ) async throws(BodyError) -> (MultipartPart, ReadyContent) {
        let made: PreparedPart
        do {
            made = try await preparation.prepare()
        } catch is CancellationError {
            throw BodyError.taskCancelled
        } catch {
            throw BodyError(.preparationFailed, "Preparing the content failed: \(error)", at: location, cause: error)
        }
        var part = original
        part.contentType = made.contentType ?? original.contentType
        part.fileName = made.fileName ?? original.fileName
        switch made.content {
        case .bytes(let bytes): return (part, .bytes(bytes))
        case .file(let path): return (part, .file(try await Self.inspect(path, nil, at: location)))
        }
    }

    private func check(_ part: MultipartPart, _ content: ReadyContent, at location: PartLocation)
        async throws(BodyError)
    {
        guard let limits = form.limits else { return }
        if let count = content.count {
            try limits.check(partBytes: count, at: location)
        } else if limits.maxPartBytes != nil || limits.maxTotalBytes != nil {
            throw BodyError(
                .unknownLength,
                "The length of the stream is unknown, and the form has limits. \(Remedy.spillStream)",
                at: location)
        }
        if limits.allowedTypes != nil, part.fileName != nil {
            try limits.check(
                beginning: try await content.beginning(), contentType: part.contentType, at: location)
        }
    }

    static func inspect(
        _ path: String, _ range: Range<Int64>?, at location: PartLocation
    ) async throws(BodyError) -> FileSlice {
        // On the pool: opening may wait for a disk or a network and must not block a thread of Swift's pool.
        try await ReaderPool.shared.run(reading: path, at: location) { () throws(BodyError) in
            try FileSlice(SourceFile(inspecting: path, at: location), range: range)
        }
    }
}

extension MultipartPart {
    /// The content type by file name, or else by path, or else `application/octet-stream`; `nil` for a text part
    /// without a file name, which needs no type.
    func typeFromName(_ table: ContentTypeTable) -> String? {
        if let type = fileName.flatMap(table.type) { return type }
        if case .file(let path, _) = content, let type = table.type(forFile: path) { return type }
        return content.isText && fileName == nil ? nil : ContentTypeTable.unknown
    }

    /// Adapts content type and file name extension to the detected type. A name that already matches is unchanged.
    mutating func follow(_ type: String?, _ table: ContentTypeTable) {
        guard let type else { return }
        let declaredType = contentType.map(MagicBytes.essence)
        if declaredType.map({ MagicBytes.sharesContainer($0, with: type) }) != true { contentType = nil }
        guard let name = fileName else {
            contentType = contentType ?? type
            return
        }
        if let typeOfName = table.type(forFile: name), MagicBytes.sharesContainer(typeOfName, with: type) {
            contentType = contentType ?? typeOfName
            return
        }
        contentType = contentType ?? type
        guard let fileExtension = MagicBytes.fileExtension(for: type) else { return }
        // Replace only an extension with a known type: "scan.2024" becomes "scan.2024.jpg".
        let old = ContentTypeTable.fileExtension(of: name).flatMap { table[String($0)] == nil ? nil : $0 }
        fileName = (old.map { String(name[..<$0.startIndex]) } ?? name + ".") + fileExtension
    }
}
