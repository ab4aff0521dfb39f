public import struct FoundationEssentials.URL
import WaybillCore
public import WaybillJPEG
public import WaybillMultipart

extension MultipartPart {
    /// A photo that is made to fit before it is sent.
    ///
    /// ```swift
    /// form.append(.image("FILE", path: "front.jpg", .maxBytes(.kibibytes(100))))
    /// ```
    ///
    /// The work is done in the phase ``UploadPhase/preparing``, before the upload takes a slot. File name and content
    /// type follow the bytes: the type is `image/jpeg`, and a name with another ending gets `.jpg`. Metadata is gone,
    /// the orientation is right. An image that can't be read or made to fit fails the upload with the JPEG error's code
    /// and the part's name, and nothing is sent. Without a file name, the last component of the path is sent.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - path: The file, which is only read.
    ///   - fileName: The file name to send.
    ///   - options: The limits that the image must meet.
    ///   - onPrepared: Receives the report each time the image was made: once for an upload, however often it is retried.
    ///     It runs on the task that prepares the form, which waits for it.
    /// - Returns: The part.
    public static func image(
        _ name: String, path: String, fileName: String? = nil, _ options: JPEGOptions,
        onPrepared: (@Sendable (JPEGReport) -> Void)? = nil
    ) -> MultipartPart {
        let preparing = ImagePreparing(
            source: .file(path: path), fileName: fileName ?? ImagePreparing.lastComponent(of: path), options: options,
            onPrepared: onPrepared)
        return .preparing(name, fileName: preparing.fileName, contentType: "image/jpeg", with: preparing)
    }

    /// A photo in memory that is made to fit before it is sent, as `image(_:path:fileName:_:)` does it. Without a file
    /// name it is called `image.jpg`.
    public static func image(
        _ name: String, data: [UInt8], fileName: String? = nil, _ options: JPEGOptions,
        onPrepared: (@Sendable (JPEGReport) -> Void)? = nil
    ) -> MultipartPart {
        let preparing = ImagePreparing(
            source: .bytes(data), fileName: fileName ?? "image.jpg", options: options, onPrepared: onPrepared)
        return .preparing(name, fileName: preparing.fileName, contentType: "image/jpeg", with: preparing)
    }

    /// A photo named by a `file:` URL that is made to fit before it is sent, as `image(_:path:fileName:_:)` does it.
    /// Another URL is refused when the upload is prepared.
    public static func image(
        _ name: String, url: URL, fileName: String? = nil, _ options: JPEGOptions,
        onPrepared: (@Sendable (JPEGReport) -> Void)? = nil
    ) -> MultipartPart {
        guard url.isFileURL else {
            let refusing = RefusedImage(url: Redaction.url(url.absoluteString))
            return .preparing(name, fileName: fileName ?? "image.jpg", contentType: "image/jpeg", with: refusing)
        }
        return .image(name, path: url.path(percentEncoded: false), fileName: fileName, options, onPrepared: onPrepared)
    }
}

/// Makes the bytes of an image part.
struct ImagePreparing: PartEstimating {
    enum Source: Sendable {
        case file(path: String)
        case bytes([UInt8])
    }

    let source: Source
    let fileName: String
    let options: JPEGOptions
    let onPrepared: (@Sendable (JPEGReport) -> Void)?

    init(
        source: Source, fileName: String, options: JPEGOptions, onPrepared: (@Sendable (JPEGReport) -> Void)?
    ) {
        self.onPrepared = onPrepared
        self.source = source
        self.fileName = Self.jpegName(for: fileName)
        self.options = options
    }

    func prepare() async throws -> PreparedPart {
        let recompressor = JPEGRecompressor(options)
        let result =
            switch source {
            case .file(let path): try await recompressor.recompress(file: path)
            case .bytes(let bytes): try await recompressor.recompress(bytes)
            }
        onPrepared?(result.report)
        return PreparedPart(content: .bytes(result.bytes), contentType: "image/jpeg", fileName: fileName)
    }

    /// The limit, which images come close to, or the size of the original if that is smaller.
    func expectedLength() async -> Int64? {
        let size: Int64?
        switch source {
        case .file(let path): size = await FileSize.of(path)
        case .bytes(let bytes): size = Int64(bytes.count)
        }
        guard let limit = options.maxBytes?.bytes else { return size }
        return size.map { min($0, limit) } ?? limit
    }

    static func lastComponent(of path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? "image.jpg"
    }

    /// The name with an ending that fits a JPEG; one that fits already is kept as it is.
    static func jpegName(for name: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name + ".jpg" }
        let ending = name[name.index(after: dot)...].lowercased()
        return ["jpg", "jpeg", "jpe", "jfif"].contains(ending) ? name : name[..<dot] + ".jpg"
    }
}

/// Stands for an image whose URL names no file, until the upload can say so.
private struct RefusedImage: PartPreparing {
    let url: String

    func prepare() async throws -> PreparedPart {
        throw UploadError(
            .invalidRequest, "\(url) is not a file URL: an image part needs one", phase: .preparing)
    }
}
