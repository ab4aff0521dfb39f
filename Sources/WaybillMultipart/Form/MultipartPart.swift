public import FoundationEssentials
public import WaybillCore

/// One part of a form: a field or a file.
///
/// ```swift
/// let form: MultipartForm = [
///     .text("BUSINESSNO", "20240001"),
///     .text("TOKEN", .secret(token)),
///     .file("FILE", path: "/cards/front.jpg"),
///     .json("META", Meta(side: "front")),
/// ]
/// ```
///
/// Nothing is read or checked before ``MultipartForm/prepared(boundary:)``.
public struct MultipartPart: Sendable {
    /// The field name. On the wire its line breaks become `%0D%0A` and its quotes `%22`, unless
    /// ``MultipartForm/compatibility`` says otherwise.
    ///
    /// A NUL is refused, here and in file names, because servers written in C would see a shorter name. Nothing else is:
    /// `/`, `\` and `..` are sent as they stand, for some servers take keys such as `2026/front.jpg`, and a server has to
    /// distrust a name anyway.
    public var name: String
    /// The file name, for parts that have one. Many servers take a part with a file name for a file and store it. One
    /// that ends in a backslash is misread by many of them.
    ///
    /// No path gets here by itself: file parts send the last component of theirs.
    public var fileName: String?
    /// The content type. `nil` lets it follow from the file name, by ``MultipartForm/contentTypes``, or else be
    /// `application/octet-stream`; a text part without file name then sends none, as browsers do.
    public var contentType: String?
    /// Whether type and file name follow the bytes, when those begin as a known type does: a `front.png` that holds a JPEG
    /// goes as `image/jpeg` and `front.jpg`. What is sent as a stream can't be looked at before.
    public var followsContent = false
    /// More header lines, after `Content-Disposition` and `Content-Type`. RFC 7578 section 4.8 tells receivers to ignore
    /// them; they are here for the servers that don't.
    public var headers: [MultipartHeader]

    /// Where the bytes come from.
    package let content: PartContent

    package init(_ name: String, fileName: String?, contentType: String?, content: PartContent) {
        self.name = name
        self.fileName = fileName
        self.contentType = contentType
        self.headers = []
        self.content = content
    }

    /// A field with a text. Every line break (CR, LF or CRLF) is sent as CRLF, as browsers do.
    public static func text(_ name: String, _ value: String) -> MultipartPart {
        MultipartPart(name, fileName: nil, contentType: nil, content: .text(value))
    }

    /// A field with a text that is sent but never printed: `.text("TOKEN", .secret(token))`.
    public static func text(_ name: String, _ value: Secret) -> MultipartPart {
        MultipartPart(name, fileName: nil, contentType: nil, content: .secret(value))
    }

    /// A field with a text whose bytes are sent as they are: line breaks are not touched, and it need not be UTF-8.
    package static func rawText(_ name: String, _ bytes: [UInt8], isSecret: Bool) -> MultipartPart {
        MultipartPart(name, fileName: nil, contentType: nil, content: .rawText(bytes, isSecret: isSecret))
    }

    /// A part with bytes from memory, sent as they are.
    public static func data(
        _ name: String, _ bytes: some Sequence<UInt8>, fileName: String? = nil, contentType: String? = nil
    ) -> MultipartPart {
        MultipartPart(name, fileName: fileName, contentType: contentType, content: .bytes(Array(bytes)))
    }

    /// A part with the bytes of a file, read while they are sent. Without a file name, the last component of the path is
    /// sent.
    public static func file(
        _ name: String, path: String, fileName: String? = nil, contentType: String? = nil
    ) -> MultipartPart {
        MultipartPart(
            name, fileName: fileName ?? lastComponent(of: path), contentType: contentType,
            content: .file(path: path, nil))
    }

    /// A part with some bytes of a file, counted from its beginning: a slice of a large upload, for example.
    ///
    /// The whole file must stay as it is until the upload ends. A range that goes beyond the file is refused by
    /// ``MultipartForm/prepared(boundary:)`` with ``BodyError/Code/invalidRange``.
    public static func file(
        _ name: String, path: String, range: Range<Int64>, fileName: String? = nil, contentType: String? = nil
    ) -> MultipartPart {
        MultipartPart(
            name, fileName: fileName ?? lastComponent(of: path), contentType: contentType,
            content: .file(path: path, range))
    }

    /// A part with the bytes of the file at a `file:` URL. Another URL is refused by ``MultipartForm/prepared(boundary:)``
    /// with ``BodyError/Code/notARegularFile``.
    public static func file(
        _ name: String, url: URL, fileName: String? = nil, contentType: String? = nil
    ) -> MultipartPart {
        guard url.isFileURL else {
            return MultipartPart(
                name, fileName: fileName, contentType: contentType,
                content: .refused(.notARegularFile, "The URL is not a file: URL. Load it first, then send its bytes."))
        }
        return file(name, path: url.path(percentEncoded: false), fileName: fileName, contentType: contentType)
    }

    /// A part with a value as JSON, type `application/json`, keys sorted so that the same value has the same bytes.
    ///
    /// The value is encoded by ``MultipartForm/prepared(boundary:)``, which throws ``BodyError/Code/encodingFailed``.
    /// A value nested deeper than 64 levels, mostly one that contains itself, gives ``BodyError/Code/nestedTooDeep``.
    /// An `encoder` of your own says how dates, keys and data are written.
    public static func json(
        _ name: String, _ value: some Encodable & Sendable, encoder: JSONEncoder? = nil
    ) -> MultipartPart {
        let encode: @Sendable () throws -> [UInt8] = {
            try FormFieldEncoder.checkDepth(of: value)
            if let encoder { return Array(try encoder.encode(value)) }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return Array(try encoder.encode(value))
        }
        return MultipartPart(name, fileName: nil, contentType: "application/json", content: .encoding(encode))
    }

    /// A part whose content is made by ``MultipartForm/prepared(boundary:)``, which may change file name and type.
    public static func preparing(
        _ name: String, fileName: String? = nil, contentType: String? = nil, with preparation: any PartPreparing
    ) -> MultipartPart {
        MultipartPart(name, fileName: fileName, contentType: contentType, content: .preparing(preparation))
    }

    /// The part with one more header line.
    public func header(_ name: String, _ value: String) -> MultipartPart {
        var part = self
        part.headers.append(MultipartHeader(name: name, value: value))
        return part
    }

    /// The part, with ``followsContent`` set.
    public func followingContent() -> MultipartPart {
        var part = self
        part.followsContent = true
        return part
    }

    private static func lastComponent(of path: String) -> String {
        let bytes = path.utf8
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[bytes.index(after: slash)...])
    }
}

/// Where the bytes of a part come from.
package enum PartContent: Sendable {
    case text(String)
    case secret(Secret)
    /// A text whose bytes are sent as they are, in whatever encoding.
    case rawText([UInt8], isSecret: Bool)
    case bytes([UInt8])
    /// All of a file, or some of it.
    case file(path: String, Range<Int64>?)
    case stream(PartStream)
    case encoding(@Sendable () throws -> [UInt8])
    case preparing(any PartPreparing)
    case refused(BodyError.Code, String)

    /// The bytes of a text or a secret, as they are sent; `nil` for other contents.
    var textBytes: [UInt8]? {
        switch self {
        case .text(let text): FormText.withNormalLineBreaks(text)
        case .secret(let secret): FormText.withNormalLineBreaks(secret.value)
        case .rawText(let bytes, _): bytes
        case .bytes, .file, .stream, .encoding, .preparing, .refused: nil
        }
    }

    /// Whether it is a text or a secret.
    var isText: Bool {
        switch self {
        case .text, .secret, .rawText: true
        case .bytes, .file, .stream, .encoding, .preparing, .refused: false
        }
    }

    /// The content, if it is in memory.
    var ready: ReadyContent? {
        if case .bytes(let bytes) = self { .bytes(bytes) } else { textBytes.map { .bytes($0) } }
    }
}

extension MultipartPart {
    /// The bytes of a plain field, as they are sent: of a text or a secret without a file name. `nil` for any other part.
    ///
    /// For signatures, which are made of the bytes that the server will read.
    package var fieldBytes: [UInt8]? { fileName == nil ? content.textBytes : nil }

    /// Whether its content has to be made, read or looked at before it can be sent.
    var takesWork: Bool {
        switch content {
        case .text, .secret, .rawText, .bytes, .refused: false
        case .file, .stream, .encoding, .preparing: true
        }
    }
}

extension MultipartPart {
    /// Whether it has no file name yet and may get one when it is made.
    var mayBecomeFile: Bool {
        if case .preparing = content { fileName == nil } else { false }
    }
}

extension MultipartPart: CustomStringConvertible, CustomReflectable {
    /// Names, type, and where the bytes are; never the bytes.
    public var description: String {
        var words = [quoted(name)]
        if let fileName { words.append("filename \(quoted(fileName))") }
        if let contentType { words.append(quoted(contentType)) }
        switch content {
        case .text(let text): words.append("text of \(text.utf8.count) bytes")
        case .secret, .rawText(_, isSecret: true): words.append(Secret.placeholder)
        case .rawText(let bytes, isSecret: false): words.append("text of \(bytes.count) bytes")
        case .bytes(let bytes): words.append("\(bytes.count) bytes")
        case .file(let path, nil): words.append("file \(quoted(path))")
        case .file(let path, let range?): words.append("bytes \(range) of file \(quoted(path))")
        case .stream(let stream): words.append(stream.length.map { "stream of \($0) bytes" } ?? "stream")
        case .encoding: words.append("JSON")
        case .preparing: words.append("to be prepared")
        case .refused(let code, _): words.append("\(code)")
        }
        return words.joined(separator: ", ")
    }

    /// The description only, so that `dump` shows no content either.
    public var customMirror: Mirror { Mirror(self, children: ["part": description]) }
}
