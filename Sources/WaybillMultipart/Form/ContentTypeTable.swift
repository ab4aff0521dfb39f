import Glibc

/// What type a file has, told by the ending of its name.
///
/// ```swift
/// form.contentTypes["dat"] = "application/x-scan"      // on top of the standard table
/// form.contentTypes = try .systemTable()               // or what this machine knows
/// ```
///
/// An ending that is not in the table gives `application/octet-stream`. The type said of a part goes before the table.
public struct ContentTypeTable: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    private var types: [String: String]
    // Looked up behind what was set here; not copied, so that a form costs no table.
    private let hasStandard: Bool

    /// The table that comes along: what forms carry, some 100 endings.
    ///
    /// The names are those of IANA's registry of media types. Where none is registered it is the name in common use,
    /// which mostly begins with `x-`. The types of the first ten endings are also the ones that curl knows, so that the
    /// same form has the same bytes.
    public static let standard = ContentTypeTable(types: [:], hasStandard: true)

    /// A table of these endings only.
    public init(dictionaryLiteral elements: (String, String)...) {
        let pairs = elements.map { ($0.lowercased(), $1) }
        self.init(types: Dictionary(pairs) { $1 }, hasStandard: false)
    }

    private init(types: [String: String], hasStandard: Bool) {
        self.types = types
        self.hasStandard = hasStandard
    }

    /// The type of an ending, without its dot; the case of its letters doesn't matter. `nil` takes away what was set
    /// here.
    public subscript(ending: String) -> String? {
        get {
            let ending = ending.lowercased()
            return types[ending] ?? (hasStandard ? Self.standardTypes[ending] : nil)
        }
        set { types[ending.lowercased()] = newValue }
    }

    /// The type for a file name or path, by the letters after its last dot.
    public func type(forFile name: String) -> String? {
        Self.ending(of: name).flatMap { self[String($0)] }
    }

    /// What this machine knows: the file `/etc/mime.types`, on top of the standard table.
    ///
    /// It takes a small file from the disk, so call it once. The same form may then have other bytes on another machine.
    ///
    /// - Throws: ``BodyError/Code/fileNotFound`` or ``BodyError/Code/fileNotReadable``; on Debian the package `media-types`
    ///   brings the file.
    public static func systemTable(path: String = "/etc/mime.types") throws(BodyError) -> ContentTypeTable {
        let source = try SourceFile(inspecting: path, at: nil)
        // The file has 70 KB; who made it larger than this meant something else.
        let bytes = try source.prefix(4 << 20)
        var table = standard
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
            guard let type = words.first else { continue }
            for ending in words.dropFirst() { table[String(ending)] = String(type) }
        }
        return table
    }

    /// What is sent when nobody knows better (WHATWG HTML, "multipart/form-data encoding algorithm").
    package static let unknown = "application/octet-stream"

    /// The first ending that the standard table has for a type.
    static func standardEnding(for type: String) -> String? {
        rows.first { $0.type == type }?.endings.split(separator: " ").first.map(String.init)
    }

    /// What stands behind the last dot of the last component.
    static func ending(of name: String) -> Substring? {
        let bytes = name.utf8
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        let ending = name[bytes.index(after: dot)...]
        return ending.isEmpty || ending.utf8.contains(UInt8(ascii: "/")) ? nil : ending
    }
}

extension ContentTypeTable {
    fileprivate static let standardTypes: [String: String] = {
        var types: [String: String] = [:]
        for (type, endings) in rows {
            for ending in endings.split(separator: " ") { types[String(ending)] = type }
        }
        return types
    }()

    // https://www.iana.org/assignments/media-types/
    private static let rows: [(type: String, endings: String)] = [
        // curl's ten.
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
