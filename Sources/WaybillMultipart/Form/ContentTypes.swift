/// What type a file has, told by the ending of its name.
///
/// A short table of what forms carry. The types of the first ten endings are the ones curl knows, so that the same
/// form has the same bytes. An ending that is not here gives `nil`, and the part is sent as
/// `application/octet-stream`.
package enum ContentTypes {
    /// What is sent when nobody knows better (WHATWG HTML, "multipart/form-data encoding algorithm").
    package static let unknown = "application/octet-stream"

    /// The type for a file name or path, by the letters after its last dot; their case doesn't matter.
    package static func forFile(named name: String) -> String? {
        let bytes = name.utf8
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        return table[name[bytes.index(after: dot)...].lowercased()]
    }

    private static let table = [
        "gif": "image/gif", "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "svg": "image/svg+xml",
        "txt": "text/plain", "htm": "text/html", "html": "text/html", "pdf": "application/pdf",
        "xml": "application/xml",
        "avif": "image/avif", "bmp": "image/bmp", "heic": "image/heic", "tif": "image/tiff", "tiff": "image/tiff",
        "webp": "image/webp",
        "csv": "text/csv", "md": "text/markdown",
        "json": "application/json", "gz": "application/gzip", "zip": "application/zip",
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4", "wav": "audio/wav",
    ]
}
