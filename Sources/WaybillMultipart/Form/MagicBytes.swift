/// Detection of content types by their first bytes.
///
/// The patterns are those of the WHATWG MIME Sniffing standard (sections 6.1 to 6.3) and of the registrations of HEIC,
/// AVIF, TIFF, PDF and the office formats. Text formats have no such pattern.
enum MagicBytes {
    /// The number of first bytes that suffices for detection.
    static let needed = 64

    /// Returns the detected type, or `nil` if no pattern matches.
    static func type(of bytes: [UInt8]) -> String? { signature(of: bytes)?.types.first }

    /// Whether bytes can be of a type: it is the detected type, or one that shares its container. If no pattern matches
    /// the bytes, they can be of any type without a pattern.
    static func canBe(_ type: String, _ bytes: [UInt8]) -> Bool {
        let type = essence(of: type)
        guard let found = signature(of: bytes) else { return !signatures.contains { $0.covers(type) } }
        return found.covers(type)
    }

    /// Whether bytes detected as `found` can also be of another type.
    static func sharesContainer(_ type: String, with found: String) -> Bool {
        type == found || signatures.contains { $0.types[0] == found && $0.covers(type) }
    }

    /// Returns the file name extension for a type.
    static func fileExtension(for type: String) -> String? { fileExtensions[type] }

    /// Returns a type without its parameters, in lower case.
    static func essence(of type: String) -> String {
        var essence = type.prefix { $0 != ";" }
        while let last = essence.last, last == " " || last == "\t" { essence.removeLast() }
        return essence.lowercased()
    }

    /// The types that can be detected.
    static var types: Set<String> { Set(signatures.map { $0.types[0] }) }

    private static func signature(of bytes: [UInt8]) -> Signature? { signatures.first { $0.matches(bytes) } }

    private struct Signature: Sendable {
        /// The first is the detected type; the others share its container.
        let types: [String]
        /// The first bytes; `nil` matches any byte.
        let pattern: [UInt8?]

        init(_ types: [String], _ pattern: [UInt8?]) {
            self.types = types
            self.pattern = pattern
        }

        func matches(_ bytes: [UInt8]) -> Bool {
            bytes.count >= pattern.count && zip(pattern, bytes).allSatisfy { $0 == nil || $0 == $1 }
        }

        func covers(_ type: String) -> Bool {
            types.contains { $0 == type || $0.hasSuffix("*") && type.hasPrefix($0.dropLast()) }
        }
    }

    private static func text(_ text: String) -> [UInt8?] { text.utf8.map { $0 } }
    private static func after(_ count: Int, _ text: String) -> [UInt8?] {
        Array(repeating: nil, count: count) + self.text(text)
    }

    private static let zipped = [
        "application/zip", "application/vnd.openxmlformats-officedocument.*", "application/vnd.oasis.opendocument.*",
        "application/epub+zip", "application/java-archive", "application/vnd.android.package-archive",
    ]

    private static let signatures: [Signature] = [
        Signature(["image/jpeg", "image/jpg", "image/pjpeg"], [0xFF, 0xD8, 0xFF]),
        Signature(["image/png", "image/apng", "image/x-png"], [0x89] + text("PNG\r\n\u{1A}\n")),
        Signature(["image/gif"], text("GIF87a")), Signature(["image/gif"], text("GIF89a")),
        Signature(["image/webp"], text("RIFF") + after(4, "WEBPVP")),
        Signature(["image/bmp", "image/x-ms-bmp"], text("BM") + after(4, "\0\0\0\0")),
        Signature(["image/tiff"], text("II*\0")), Signature(["image/tiff"], text("MM\0*")),
        Signature(["image/vnd.microsoft.icon", "image/x-icon"], [0, 0, 1, 0]),
        Signature(["image/heic", "image/heif"], after(4, "ftypheic")),
        Signature(["image/heic", "image/heif"], after(4, "ftypheix")),
        Signature(["image/heif", "image/heic"], after(4, "ftypmif1")),
        Signature(["image/avif"], after(4, "ftypavif")),
        Signature(["image/jxl"], [0xFF, 0x0A]),
        Signature(["image/jp2"], [0, 0, 0, 12] + text("jP  \r\n") + [0x87, 0x0A]),
        Signature(["video/quicktime"], after(4, "ftypqt  ")),
        Signature(["audio/mp4", "video/mp4"], after(4, "ftypM4A ")),
        Signature(["video/3gpp", "video/mp4"], after(4, "ftyp3g")),
        Signature(["video/mp4", "audio/mp4"], after(4, "ftyp")),
        Signature(["video/webm", "video/matroska", "video/x-matroska", "audio/webm"], [0x1A, 0x45, 0xDF, 0xA3]),
        Signature(["audio/wav", "audio/wave", "audio/vnd.wave", "audio/x-wav"], text("RIFF") + after(4, "WAVE")),
        Signature(["video/x-msvideo"], text("RIFF") + after(4, "AVI ")),
        Signature(["audio/ogg", "video/ogg", "application/ogg"], text("OggS\0")),
        Signature(["audio/flac"], text("fLaC")), Signature(["audio/mpeg", "audio/mp3"], text("ID3")),
        Signature(["audio/amr"], text("#!AMR")),
        Signature(["application/pdf"], text("%PDF-")),
        Signature(["application/postscript"], text("%!PS-Adobe-")),
        Signature(zipped, text("PK\u{3}\u{4}")), Signature(zipped, text("PK\u{5}\u{6}")),
        Signature(["application/gzip", "application/x-gzip"], [0x1F, 0x8B, 8]),
        Signature(["application/vnd.rar", "application/x-rar-compressed"], text("Rar!\u{1A}\u{7}")),
        Signature(["application/x-7z-compressed"], text("7z") + [0xBC, 0xAF, 0x27, 0x1C]),
        Signature(["application/x-xz"], [0xFD] + text("7zXZ\0")),
        Signature(["application/zstd"], [0x28, 0xB5, 0x2F, 0xFD]),
        Signature(["application/x-bzip2"], text("BZh")),
        Signature(
            [
                "application/x-ole-storage", "application/msword", "application/vnd.ms-excel",
                "application/vnd.ms-powerpoint",
            ],
            [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1]),
        Signature(["application/wasm"], text("\0asm")), Signature(["font/woff"], text("wOFF")),
        Signature(["font/woff2"], text("wOF2")), Signature(["font/otf"], text("OTTO")),
    ]

    private static let fileExtensions = [
        "image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/webp": "webp", "image/bmp": "bmp",
        "image/tiff": "tif", "image/vnd.microsoft.icon": "ico", "image/heic": "heic", "image/heif": "heif",
        "image/avif": "avif", "image/jxl": "jxl", "image/jp2": "jp2", "video/quicktime": "mov", "audio/mp4": "m4a",
        "video/3gpp": "3gp", "video/mp4": "mp4", "video/webm": "webm", "audio/wav": "wav", "video/x-msvideo": "avi",
        "audio/ogg": "ogg", "audio/flac": "flac", "audio/mpeg": "mp3", "audio/amr": "amr", "application/pdf": "pdf",
        "application/postscript": "ps", "application/zip": "zip", "application/gzip": "gz",
        "application/vnd.rar": "rar",
        "application/x-7z-compressed": "7z", "application/x-xz": "xz", "application/zstd": "zst",
        "application/x-bzip2": "bz2", "application/wasm": "wasm", "font/woff": "woff", "font/woff2": "woff2",
        "font/otf": "otf",
    ]
}
