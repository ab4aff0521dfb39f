import Glibc

/// A table of content types by file name extension.
///
/// ```swift
/// form.contentTypes["dat"] = "application/x-scan"      // on top of the standard table
/// form.contentTypes = try .systemTable()               // or what this machine knows
/// ```
///
/// An extension that is not in the table yields `application/octet-stream`. An explicit content type of a part takes
/// precedence over the table.
public struct ContentTypeTable: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    private var types: [String: String]
    // Looked up after `types` and not copied, so that a form does not carry a table.
    private let hasStandard: Bool

    /// The built-in table of some 100 extensions that are common in forms.
    ///
    /// The types are those of IANA's registry of media types. Where none is registered, the type in common use is
    /// given, which usually begins with `x-`. The types of the first ten extensions are those that curl uses, so that
    /// both send the same bytes for the same form.
    public static let standard = ContentTypeTable(types: [:], hasStandard: true)

    /// Creates a table with these extensions only.
    public init(dictionaryLiteral elements: (String, String)...) {
        let pairs = elements.map { ($0.lowercased(), $1) }
        self.init(types: Dictionary(pairs) { $1 }, hasStandard: false)
    }

    private init(types: [String: String], hasStandard: Bool) {
        self.types = types
        self.hasStandard = hasStandard
    }

    /// The type for an extension without its dot, case-insensitive. Assigning `nil` removes an entry set here.
    public subscript(fileExtension: String) -> String? {
        get {
            let fileExtension = fileExtension.lowercased()
            return types[fileExtension] ?? (hasStandard ? Self.standardTypes[fileExtension] : nil)
        }
        set { types[fileExtension.lowercased()] = newValue }
    }

    /// Returns the type for a file name or path by its extension, the part after the last dot.
    public func type(forFile name: String) -> String? {
        Self.fileExtension(of: name).flatMap { self[String($0)] }
    }

    /// Returns the standard table extended by the system's file `/etc/mime.types`.
    ///
    /// Reads a small file, so call it once. The same form may then have different bytes on another machine.
    ///
    /// - Throws: ``BodyError/Code/fileNotFound`` or ``BodyError/Code/fileNotReadable``. On Debian, the package
    ///   `media-types` provides the file.
    public static func systemTable(path: String = "/etc/mime.types") throws(BodyError) -> ContentTypeTable {
        let source = try SourceFile(inspecting: path, at: nil)
        // The file has about 70 KB; anything beyond 4 MiB is not that file.
        let bytes = try source.prefix(4 << 20)
        var table = standard
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
            guard let type = words.first else { continue }
            for fileExtension in words.dropFirst() { table[String(fileExtension)] = String(type) }
        }
        return table
    }

    /// The type for unknown content (WHATWG HTML, "multipart/form-data encoding algorithm").
    package static let unknown = "application/octet-stream"

    /// Returns the first extension that the standard table lists for a type.
    static func standardExtension(for type: String) -> String? {
        rows.first { $0.type == type }?.fileExtensions.split(separator: " ").first.map(String.init)
    }

    /// Returns the extension of the last path component, without the dot.
    static func fileExtension(of name: String) -> Substring? {
        let bytes = name.utf8
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        let fileExtension = name[bytes.index(after: dot)...]
        return fileExtension.isEmpty || fileExtension.utf8.contains(UInt8(ascii: "/")) ? nil : fileExtension
    }
}

extension ContentTypeTable {
    /// The types of the built-in table by extension.
    package static let standardTypes: [String: String] = {
        var types: [String: String] = [:]
        for (type, fileExtensions) in rows {
            for fileExtension in fileExtensions.split(separator: " ") { types[String(fileExtension)] = type }
        }
        return types
    }()

    // https://www.iana.org/assignments/media-types/
    private static let rows: [(type: String, fileExtensions: String)] = [
        // The ten extensions that curl knows.
        ("image/gif", "gif"), ("image/jpeg", "jpg jpeg"), ("image/png", "png"), ("image/svg+xml", "svg"),
        ("text/plain", "txt"), ("text/html", "htm html"), ("application/pdf", "pdf"), ("application/xml", "xml"),

        ("image/apng", "apng"), ("image/avif", "avif"), ("image/bmp", "bmp"), ("image/heic", "heic"),
        ("image/heif", "heif"), ("image/jp2", "jp2"), ("image/jpeg", "jpe jfif"), ("image/jxl", "jxl"),
        ("image/tiff", "tif tiff"), ("image/vnd.adobe.photoshop", "psd"), ("image/vnd.dwg", "dwg"),
        ("image/vnd.microsoft.icon", "ico"), ("image/webp", "webp"),

        ("audio/aac", "aac"), ("audio/amr", "amr"), ("audio/flac", "flac"), ("audio/mp4", "m4a"), ("audio/mpeg", "mp3"),
        ("audio/ogg", "oga ogg opus"), ("audio/wav", "wav"),
        ("video/3gpp", "3gp"), ("video/matroska", "mkv"), ("video/mp4", "mp4"), ("video/mpeg", "mpeg mpg"),
        ("video/ogg", "ogv"), ("video/quicktime", "mov"), ("video/webm", "webm"), ("video/x-msvideo", "avi"),

        ("text/calendar", "ics"), ("text/css", "css"), ("text/csv", "csv"), ("text/javascript", "js mjs"),
        ("text/markdown", "markdown md"), ("text/plain", "log text"), ("text/rtf", "rtf"),
        ("text/tab-separated-values", "tsv"), ("text/vcard", "vcf"), ("message/rfc822", "eml"),
        ("application/geo+json", "geojson"), ("application/json", "json"), ("application/sql", "sql"),
        ("application/toml", "toml"), ("application/x-ndjson", "jsonl ndjson"), ("application/xhtml+xml", "xhtml"),
        ("application/yaml", "yaml yml"), ("application/wasm", "wasm"),

        ("application/epub+zip", "epub"), ("application/msword", "doc"), ("application/postscript", "eps ps"),
        ("application/vnd.ms-excel", "xls"), ("application/vnd.ms-powerpoint", "ppt"),
        ("application/vnd.oasis.opendocument.presentation", "odp"),
        ("application/vnd.oasis.opendocument.spreadsheet", "ods"), ("application/vnd.oasis.opendocument.text", "odt"),
        ("application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),

        ("application/gzip", "gz"), ("application/vnd.rar", "rar"), ("application/x-7z-compressed", "7z"),
        ("application/x-bzip2", "bz2"), ("application/x-tar", "tar"), ("application/x-xz", "xz"),
        ("application/zip", "zip"), ("application/zstd", "zst"),

        ("application/pkcs12", "p12"), ("application/pkcs7-mime", "p7m"), ("application/pkcs7-signature", "p7s"),
        ("application/pkix-cert", "cer"), ("application/octet-stream", "bin"),
        ("font/otf", "otf"), ("font/ttf", "ttf"), ("font/woff", "woff"), ("font/woff2", "woff2"),
        ("model/gltf-binary", "glb"), ("model/stl", "stl"),
    ]
}
