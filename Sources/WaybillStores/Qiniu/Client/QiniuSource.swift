public import Waybill
public import WaybillCore
import WaybillMultipart

/// The source of an object: a file, bytes, or a photo that is compressed first.
///
/// ```swift
/// .file(path: "scan.pdf")
/// .image(path: "front.jpg", .maxBytes(.kibibytes(100)))
/// .data(bytes, fileName: "note.txt", contentType: "text/plain")
/// ```
///
/// The content is not read before the upload starts.
public struct QiniuSource: Sendable {
    enum Content: Sendable {
        case file(path: String)
        case bytes([UInt8])
        case preparing(any PartPreparing)
    }

    let content: Content
    /// The file name that is sent to Qiniu, available as `$(fname)`. If ``contentType`` is `nil`, the content type is
    /// derived from this name.
    public var fileName: String
    /// The content type; `nil` to derive it from the file name.
    public var contentType: String?

    private init(_ content: Content, fileName: String, contentType: String?) {
        self.content = content
        self.fileName = fileName.isEmpty ? "file" : fileName
        self.contentType = contentType
    }

    /// Returns a source that streams a regular file. The file must not change until the upload ends; a change is
    /// detected and fails the upload. The default file name is the last component of the path.
    public static func file(path: String, fileName: String? = nil, contentType: String? = nil) -> QiniuSource {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let last = slash.map { String(path[path.utf8.index(after: $0)...]) }
        return QiniuSource(.file(path: path), fileName: fileName ?? last ?? path, contentType: contentType)
    }

    /// Returns a source of bytes in memory.
    public static func data(
        _ bytes: some Sequence<UInt8>, fileName: String = "file", contentType: String? = nil
    ) -> QiniuSource {
        QiniuSource(.bytes(Array(bytes)), fileName: fileName, contentType: contentType)
    }

    /// Returns a source of a photo that is compressed before it is sent, as with the form part `MultipartPart.image`.
    public static func image(path: String, fileName: String? = nil, _ options: JPEGOptions) -> QiniuSource {
        QiniuSource(.image("file", path: path, fileName: fileName, options))
    }

    /// Returns a source of a photo in memory that is compressed before it is sent.
    public static func image(data: [UInt8], fileName: String? = nil, _ options: JPEGOptions) -> QiniuSource {
        QiniuSource(.image("file", data: data, fileName: fileName, options))
    }

    /// Returns a source whose content is prepared when the upload starts.
    public static func preparing(
        _ preparation: any PartPreparing, fileName: String = "file", contentType: String? = nil
    ) -> QiniuSource {
        QiniuSource(.preparing(preparation), fileName: fileName, contentType: contentType)
    }

    private init(_ part: MultipartPart) {
        guard case .preparing(let preparation) = part.content else { preconditionFailure("An image must be prepared.") }
        self.init(.preparing(preparation), fileName: part.fileName ?? "image.jpg", contentType: part.contentType)
    }
}

extension QiniuSource {
    /// Returns the expected size in bytes, as far as it is known before preparation.
    func expectedLength() async -> ExpectedLength? {
        switch content {
        case .file(let path): await FileSize.of(path).map { ExpectedLength($0) }
        case .bytes(let bytes): ExpectedLength(Int64(bytes.count))
        case .preparing(let preparation):
            await (preparation as? any PartEstimating)?.expectedLength().map { ExpectedLength($0, isExact: false) }
        }
    }
}

/// The prepared content of a source and its size.
struct QiniuPayload: Sendable {
    enum Content: Sendable {
        case file(SourceFile)
        case bytes([UInt8])
    }

    let content: Content
    let fileName: String
    let contentType: String?
    let size: Int64

    /// Prepares the content of a source. For a file, reads its size and the metadata that detects changes.
    init(_ source: QiniuSource) async throws(StoreError) {
        var fileName = source.fileName
        var contentType = source.contentType
        var found = source.content
        if case .preparing(let preparation) = found {
            do {
                let made = try await preparation.prepare()
                switch made.content {
                case .bytes(let bytes): found = .bytes(bytes)
                case .file(let path): found = .file(path: path)
                }
                fileName = made.fileName ?? fileName
                contentType = made.contentType ?? contentType
            } catch {
                throw StoreError(UploadError(preparing: error))
            }
        }
        switch found {
        case .bytes(let bytes):
            content = .bytes(bytes)
            size = Int64(bytes.count)
        case .file(let path):
            let file = try await SourceFile.look(at: path)
            content = .file(file)
            size = file.stamp.size
        case .preparing: preconditionFailure("The content must have been prepared.")
        }
        self.fileName = fileName
        self.contentType = contentType
    }

    /// Creates a payload of bytes in memory.
    init(_ bytes: [UInt8], fileName: String, contentType: String?) {
        content = .bytes(bytes)
        size = Int64(bytes.count)
        self.fileName = fileName
        self.contentType = contentType
    }

    /// Creates a payload of a file that has been examined already.
    init(_ file: SourceFile, fileName: String, contentType: String?) {
        content = .file(file)
        size = file.stamp.size
        self.fileName = fileName
        self.contentType = contentType
    }

    /// Returns a range of the content as a body that detects changes of the file.
    func body(_ range: Range<Int64>, contentType: String? = nil) throws(StoreError) -> any UploadBody {
        switch content {
        case .bytes(let bytes):
            return DataBody(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]), contentType: contentType)
        case .file(let file):
            do throws(BodyError) {
                return try FileBody(range: range, of: file, contentType: contentType)
            } catch {
                throw StoreError(error)
            }
        }
    }

    /// Reads a range and passes its bytes to a closure in chunks.
    func read(_ range: Range<Int64>, _ consume: ([UInt8]) -> Void) async throws(StoreError) {
        let body = try body(range)
        do throws(BodyError) {
            try await body.read(consume)
        } catch {
            throw StoreError(error)
        }
    }
}
