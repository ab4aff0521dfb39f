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
/// No content is read or validated before ``MultipartForm/prepared(boundary:)``.
public struct MultipartPart: Sendable {
    /// The field name. Line breaks are sent as `%0D%0A` and quotes as `%22`, unless ``MultipartForm/compatibility``
    /// specifies otherwise.
    ///
    /// A NUL is rejected, here and in file names, because servers written in C would read a shorter name. No other
    /// character is rejected: `/`, `\` and `..` are sent unchanged, because some servers accept keys such as
    /// `2026/front.jpg`, and a server must not trust a name anyway.
    public var name: String
    /// The file name, if the part has one. Many servers treat a part with a file name as a file and store it. Many of
    /// them misread a name that ends in a backslash.
    ///
    /// File parts send the last component of their path; the path itself is never sent implicitly.
    public var fileName: String?
    /// The content type. If `nil`, it is derived from the file name by ``MultipartForm/contentTypes``, or else is
    /// `application/octet-stream`. A text part without a file name then sends no content type, as browsers do.
    public var contentType: String?
    /// Whether content type and file name are corrected to match the content if its first bytes identify a known type:
    /// a `front.png` that contains a JPEG is sent as `image/jpeg` and `front.jpg`. Does not apply to content that is
    /// sent as a stream, because it cannot be inspected beforehand.
    public var followsContent = false
    /// Additional header lines, after `Content-Disposition` and `Content-Type`. RFC 7578 section 4.8 requires receivers
    /// to ignore them; use them only for servers that do not.
    public var headers: [MultipartHeader]

    package let content: PartContent

    package init(_ name: String, fileName: String?, contentType: String?, content: PartContent) {
        self.name = name
        self.fileName = fileName
        self.contentType = contentType
        self.headers = []
        self.content = content
    }

    /// A text field. Every line break (CR, LF or CRLF) is sent as CRLF, as browsers do.
    public static func text(_ name: String, _ value: String) -> MultipartPart {
        MultipartPart(name, fileName: nil, contentType: nil, content: .text(value))
    }

    /// A text field whose value is sent but never printed: `.text("TOKEN", .secret(token))`.
    public static func text(_ name: String, _ value: Secret) -> MultipartPart {
        MultipartPart(name, fileName: nil, contentType: nil, content: .secret(value))
    }

    /// A text field whose bytes are sent unchanged: line breaks are not normalized, and the bytes need not be UTF-8.
    package static func rawText(_ name: String, _ bytes: [UInt8], isSecret: Bool) -> MultipartPart {
        MultipartPart(name, fileName: nil, contentType: nil, content: .rawText(bytes, isSecret: isSecret))
    }

    /// A part with bytes from memory, sent unchanged.
    public static func data(
        _ name: String, _ bytes: some Sequence<UInt8>, fileName: String? = nil, contentType: String? = nil
    ) -> MultipartPart {
        MultipartPart(name, fileName: fileName, contentType: contentType, content: .bytes(Array(bytes)))
    }

    /// A part with the contents of a file, read while it is sent. `fileName` defaults to the last component of the
    /// path.
    public static func file(
        _ name: String, path: String, fileName: String? = nil, contentType: String? = nil
    ) -> MultipartPart {
        MultipartPart(
            name, fileName: fileName ?? lastComponent(of: path), contentType: contentType,
            content: .file(path: path, nil))
    }

    /// A part with a byte range of a file, for example a chunk of a large upload.
    ///
    /// The whole file must not change until the upload ends. A range beyond the end of the file makes
    /// ``MultipartForm/prepared(boundary:)`` throw ``BodyError/Code/invalidRange``.
    public static func file(
        _ name: String, path: String, range: Range<Int64>, fileName: String? = nil, contentType: String? = nil
    ) -> MultipartPart {
        MultipartPart(
            name, fileName: fileName ?? lastComponent(of: path), contentType: contentType,
            content: .file(path: path, range))
    }

    /// A part with the contents of the file at a `file:` URL. Any other URL makes ``MultipartForm/prepared(boundary:)``
    /// throw ``BodyError/Code/notARegularFile``.
    public static func file(
        _ name: String, url: URL, fileName: String? = nil, contentType: String? = nil
    ) -> MultipartPart {
        guard url.isFileURL else {
            return MultipartPart(
                name, fileName: fileName, contentType: contentType,
                content: .refused(.notARegularFile, "The URL is not a file: URL. Load it first and send its bytes."))
        }
        return file(name, path: url.path(percentEncoded: false), fileName: fileName, contentType: contentType)
    }

    /// A part with a value encoded as `application/json`, with sorted keys so that equal values produce equal bytes.
    ///
    /// The value is encoded by ``MultipartForm/prepared(boundary:)``, which throws ``BodyError/Code/encodingFailed``. A
    /// value nested deeper than 64 levels, usually one that contains itself, fails with
    /// ``BodyError/Code/nestedTooDeep``. Pass an `encoder` to control how dates, keys and data are written.
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

    /// A part whose content ``MultipartForm/prepared(boundary:)`` produces, possibly with a new file name and type.
    public static func preparing(
        _ name: String, fileName: String? = nil, contentType: String? = nil, with preparation: any PartPreparing
    ) -> MultipartPart {
        MultipartPart(name, fileName: fileName, contentType: contentType, content: .preparing(preparation))
    }

    /// Returns the part with an additional header line.
    public func header(_ name: String, _ value: String) -> MultipartPart {
        var part = self
        part.headers.append(MultipartHeader(name: name, value: value))
        return part
    }

    /// Returns the part with ``followsContent`` set.
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

/// The source of the bytes of a part.
package enum PartContent: Sendable {
    case text(String)
    case secret(Secret)
    /// A text field whose bytes are sent unchanged, in any encoding.
    case rawText([UInt8], isSecret: Bool)
    case bytes([UInt8])
    /// A whole file, or a byte range of it.
    case file(path: String, Range<Int64>?)
    case stream(PartStream)
    case encoding(@Sendable () throws -> [UInt8])
    case preparing(any PartPreparing)
    case refused(BodyError.Code, String)

    /// The bytes of a text field or secret, as they are sent; `nil` for other contents.
    var textBytes: [UInt8]? { isText ? memoryBytes : nil }

    /// The bytes of the content, as they are sent, if they are in memory.
    var memoryBytes: [UInt8]? {
        switch self {
        case .text(let text): FormText.withNormalLineBreaks(text)
        case .secret(let secret): FormText.withNormalLineBreaks(secret.value)
        case .rawText(let bytes, _), .bytes(let bytes): bytes
        case .file, .stream, .encoding, .preparing, .refused: nil
        }
    }

    /// Whether the content is a text field or a secret.
    var isText: Bool {
        switch self {
        case .text, .secret, .rawText: true
        case .bytes, .file, .stream, .encoding, .preparing, .refused: false
        }
    }

    /// The content, if it is in memory.
    var ready: ReadyContent? { memoryBytes.map { .bytes($0) } }
}

extension MultipartPart {
    /// The bytes of a text field or secret without a file name, as they are sent. `nil` for any other part.
    ///
    /// Used for signatures, which are computed over the bytes that the server reads.
    package var fieldBytes: [UInt8]? { fileName == nil ? content.textBytes : nil }

    /// Whether the content has to be produced, read or inspected before it can be sent.
    var needsPreparation: Bool {
        switch content {
        case .text, .secret, .rawText, .bytes, .refused: false
        case .file, .stream, .encoding, .preparing: true
        }
    }
}

extension MultipartPart {
    /// Whether the part has no file name yet and may receive one when it is prepared.
    var mayBecomeFile: Bool {
        if case .preparing = content { fileName == nil } else { false }
    }
}

extension MultipartPart: CustomStringConvertible, CustomReflectable {
    /// The names, the content type and the source of the bytes; never the bytes.
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

    /// Only the description, so that `dump` shows no content either.
    public var customMirror: Mirror { Mirror(self, children: ["part": description]) }
}
