public import struct FoundationEssentials.URL
import WaybillCore
public import WaybillJPEG
public import WaybillMultipart

extension MultipartPart {
    /// Returns a part with a photo that is compressed to fit the limits before it is sent.
    ///
    /// ```swift
    /// form.append(.image("FILE", path: "front.jpg", .maxBytes(.kibibytes(100))))
    /// ```
    ///
    /// The image is compressed in the phase ``UploadPhase/preparing``, before the upload takes a slot. The content type
    /// is `image/jpeg`, and a file name with another extension gets `.jpg`; both match the format of a file that is kept
    /// (``JPEGOptions/keepsFormat``). Metadata is removed and the orientation is
    /// applied. If the image can't be read or compressed below the limits, the upload fails with the code of the JPEG
    /// error and the name of the part, and nothing is sent. Without a file name, the last component of the path is
    /// sent.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - path: The path of the file, which is not modified.
    ///   - fileName: The file name to send.
    ///   - options: The limits that the image must meet.
    ///   - onPrepared: Called with the report each time the image is compressed: once per upload, regardless of
    ///     retries. It is called synchronously by the task that prepares the form.
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

    /// Returns a part with a photo in memory that is compressed to fit the limits before it is sent, like
    /// `image(_:path:fileName:_:)`. The default file name is `image.jpg`.
    public static func image(
        _ name: String, data: [UInt8], fileName: String? = nil, _ options: JPEGOptions,
        onPrepared: (@Sendable (JPEGReport) -> Void)? = nil
    ) -> MultipartPart {
        let preparing = ImagePreparing(
            source: .bytes(data), fileName: fileName ?? "image.jpg", options: options, onPrepared: onPrepared)
        return .preparing(name, fileName: preparing.fileName, contentType: "image/jpeg", with: preparing)
    }

    /// Returns a part with a photo at a `file:` URL that is compressed to fit the limits before it is sent, like
    /// `image(_:path:fileName:_:)`. Any other URL is rejected when the upload is prepared.
    public static func image(
        _ name: String, url: URL, fileName: String? = nil, _ options: JPEGOptions,
        onPrepared: (@Sendable (JPEGReport) -> Void)? = nil
    ) -> MultipartPart {
        guard url.isFileURL else {
            let refusing = RejectedImage(url: Redaction.url(url.absoluteString))
            return .preparing(name, fileName: fileName ?? "image.jpg", contentType: "image/jpeg", with: refusing)
        }
        return .image(name, path: url.path(percentEncoded: false), fileName: fileName, options, onPrepared: onPrepared)
    }
}

/// Produces the bytes of an image part.
struct ImagePreparing: PartEstimating {
    enum Source: Sendable {
        case file(path: String)
        case bytes([UInt8])
    }

    let source: Source
    /// The file name of a JPEG file.
    let fileName: String
    private let originalName: String
    let options: JPEGOptions
    let onPrepared: (@Sendable (JPEGReport) -> Void)?

    init(
        source: Source, fileName: String, options: JPEGOptions, onPrepared: (@Sendable (JPEGReport) -> Void)?
    ) {
        self.onPrepared = onPrepared
        self.source = source
        originalName = fileName
        self.fileName = Self.name(fileName, for: .jpeg)
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
        let format = result.report.format
        return PreparedPart(
            content: .bytes(result.bytes), contentType: format.contentType,
            fileName: Self.name(originalName, for: format))
    }

    /// Returns the byte limit, which compressed images come close to, or the size of the original if it is smaller.
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

    /// Returns the name with an extension of the format. A name that has one is returned unchanged.
    static func name(_ name: String, for format: JPEGReport.Format) -> String {
        let preferred = ".\(format.fileExtensions[0])"
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name + preferred }
        let ending = name[name.index(after: dot)...].lowercased()
        return format.fileExtensions.contains(ending) ? name : name[..<dot] + preferred
    }
}

/// Takes the place of an image whose URL is not a file URL, and fails when the upload is prepared.
private struct RejectedImage: PartPreparing {
    let url: String

    func prepare() async throws -> PreparedPart {
        throw UploadError(
            .invalidRequest, "\(url) is not a file URL. Pass a file URL to the image part.", phase: .preparing)
    }
}
