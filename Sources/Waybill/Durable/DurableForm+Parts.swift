import FoundationEssentials
import WaybillCore
import WaybillMultipart

extension DurableForm {
    /// The encoding of names, as a persisted identifier.
    enum Compatibility: String, Codable, Sendable {
        case standard, backslashEscapes, extendedFileNames, percentEncodedNames

        init(_ value: MultipartCompatibility) {
            var value = value
            value.allowsEmptyNames = false
            switch value {
            case .backslashEscapes: self = .backslashEscapes
            case .extendedFileNames: self = .extendedFileNames
            case .percentEncodedNames: self = .percentEncodedNames
            default: self = .standard
            }
        }

        var value: MultipartCompatibility {
            switch self {
            case .standard: .standard
            case .backslashEscapes: .backslashEscapes
            case .extendedFileNames: .extendedFileNames
            case .percentEncodedNames: .percentEncodedNames
            }
        }
    }

    /// A part as it is persisted.
    struct Part: Codable, Sendable {
        enum Source: Sendable {
            case inline([UInt8])
            case credential(String)
            /// A whole file, or a range of it.
            case file(DurableFile, Range<Int64>?)

            var file: DurableFile? {
                if case .file(let file, _) = self { file } else { nil }
            }
        }

        struct Header: Codable, Sendable {
            var name: String
            var value: String
        }

        var name: String
        var fileName: String?
        var contentType: String?
        var headers: [Header]
        /// Whether the content is text without a content type.
        var isText: Bool
        var source: Source
    }
}

extension DurableForm.Part {
    /// Returns the placeholder of a credential while a form is prepared. The prefix has 122 random bits per process, so
    /// no text contains it by chance.
    static func placeholder(_ index: Int) -> [UInt8] { Array("\(placeholderPrefix)\(index)".utf8) }

    private static let placeholderPrefix =
        "credential-" + IdempotencyKey(random: (.random(in: .min ... .max), .random(in: .min ... .max))).text + "-"

    /// Larger contents are stored in a file.
    private static let inlineAtMost = 16_384

    /// Creates a part from a part of a fixed form.
    init(_ part: MultipartPart, credentials: [String]) {
        name = part.name
        fileName = part.fileName
        contentType = part.contentType
        headers = part.headers.map { Header(name: $0.name, value: $0.value) }
        switch part.content {
        case .rawText(let bytes, _):
            isText = true
            source = Self.source(bytes)
            let prefix = Array(Self.placeholderPrefix.utf8)
            guard bytes.starts(with: prefix),
                let text = String(validating: bytes.dropFirst(prefix.count), as: UTF8.self),
                let index = Int(text), credentials.indices.contains(index)
            else { return }
            source = .credential(credentials[index])
        case .bytes(let bytes):
            isText = false
            source = Self.source(bytes)
        case .file(let path, let range):
            isText = false
            source = .file(DurableFile(path: path), range)
        // A fixed form contains no other cases.
        default:
            isText = false
            source = .inline([])
        }
    }

    private static func source(_ bytes: [UInt8]) -> Source {
        bytes.count <= inlineAtMost ? .inline(bytes) : .file(DurableFile(bytes: bytes), nil)
    }

    /// Returns the original part.
    func restored(_ credentials: any NamedCredentials) async throws(UploadError) -> MultipartPart {
        let content: PartContent
        switch source {
        case .inline(let bytes): content = isText ? .rawText(bytes, isSecret: false) : .bytes(bytes)
        case .credential(let name):
            let secret = try await credentials.required(name)
            content = .secret(secret)
        case .file(let file, let range):
            if let bytes = file.pending { content = .bytes(bytes) } else { content = .file(path: file.path, range) }
        }
        var part = MultipartPart(name, fileName: fileName, contentType: contentType, content: content)
        part.headers = headers.map { MultipartHeader(name: $0.name, value: $0.value) }
        return part
    }
}

extension DurableForm.Part.Source: Codable {
    private enum CodingKeys: String, CodingKey {
        case text, base64, credential, file, from, to
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        if let text = try values.decodeIfPresent(String.self, forKey: .text) {
            self = .inline(Array(text.utf8))
        } else if let data = try values.decodeIfPresent(Data.self, forKey: .base64) {
            self = .inline(Array(data))
        } else if let name = try values.decodeIfPresent(String.self, forKey: .credential) {
            self = .credential(name)
        } else {
            let file = try values.decode(DurableFile.self, forKey: .file)
            let from = try values.decodeIfPresent(Int64.self, forKey: .from)
            let to = try values.decodeIfPresent(Int64.self, forKey: .to)
            let range = from.flatMap { from in to.flatMap { $0 >= from ? from..<$0 : nil } }
            self = .file(file, range)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .inline(let bytes):
            if let text = String(validating: bytes, as: UTF8.self) {
                try values.encode(text, forKey: .text)
            } else {
                try values.encode(Data(bytes), forKey: .base64)
            }
        case .credential(let name): try values.encode(name, forKey: .credential)
        case .file(let file, let range):
            try values.encode(file, forKey: .file)
            try values.encodeIfPresent(range?.lowerBound, forKey: .from)
            try values.encodeIfPresent(range?.upperBound, forKey: .to)
        }
    }
}
