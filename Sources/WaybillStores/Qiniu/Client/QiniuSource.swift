public import Waybill
public import WaybillCore
import WaybillMultipart

/// What becomes an object: a file, bytes, or a photo that is made to fit first.
///
/// ```swift
/// .file(path: "scan.pdf")
/// .image(path: "front.jpg", .maxBytes(.kibibytes(100)))
/// .data(bytes, fileName: "note.txt", contentType: "text/plain")
/// ```
///
/// Nothing is read before it is its turn.
public struct QiniuSource: Sendable {
    enum Content: Sendable {
        case file(path: String)
        case bytes([UInt8])
        case preparing(any PartPreparing)
    }

    let content: Content
    /// The file name that goes with it: `$(fname)`, and what the type follows from where none is given.
    public var fileName: String
    /// The content type; `nil` to let it follow from the file name.
    public var contentType: String?

    private init(_ content: Content, fileName: String, contentType: String?) {
        self.content = content
        self.fileName = fileName.isEmpty ? "file" : fileName
        self.contentType = contentType
    }

    /// A regular file, streamed. It must stay as it is until the upload ends; a change is noticed and is an error. Without a
    /// name, the last component of the path is sent.
    public static func file(path: String, fileName: String? = nil, contentType: String? = nil) -> QiniuSource {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let last = slash.map { String(path[path.utf8.index(after: $0)...]) }
        return QiniuSource(.file(path: path), fileName: fileName ?? last ?? path, contentType: contentType)
    }

    /// Bytes in memory.
    public static func data(
        _ bytes: some Sequence<UInt8>, fileName: String = "file", contentType: String? = nil
    ) -> QiniuSource {
        QiniuSource(.bytes(Array(bytes)), fileName: fileName, contentType: contentType)
    }

    /// A photo that is made to fit before it is sent, as in a form: `MultipartPart.image`.
    public static func image(path: String, fileName: String? = nil, _ options: JPEGOptions) -> QiniuSource {
        QiniuSource(.image("file", path: path, fileName: fileName, options))
    }

    /// A photo in memory that is made to fit before it is sent.
    public static func image(data: [UInt8], fileName: String? = nil, _ options: JPEGOptions) -> QiniuSource {
        QiniuSource(.image("file", data: data, fileName: fileName, options))
    }

    /// What somebody makes when it is its turn.
    public static func preparing(
        _ preparation: any PartPreparing, fileName: String = "file", contentType: String? = nil
    ) -> QiniuSource {
        QiniuSource(.preparing(preparation), fileName: fileName, contentType: contentType)
    }

    private init(_ part: MultipartPart) {
        guard case .preparing(let preparation) = part.content else { preconditionFailure("images are prepared") }
        self.init(.preparing(preparation), fileName: part.fileName ?? "image.jpg", contentType: part.contentType)
    }
}

extension QiniuSource {
    /// How many bytes it has, as far as that is known before it is prepared.
    func expectedLength() async -> ExpectedLength? {
        switch content {
        case .file(let path): await FileSize.of(path).map { ExpectedLength($0) }
        case .bytes(let bytes): ExpectedLength(Int64(bytes.count))
        case .preparing(let preparation):
            await (preparation as? any PartEstimating)?.expectedLength().map { ExpectedLength($0, isExact: false) }
        }
    }
}

/// A source when its bytes are there: how many they are, and where.
struct QiniuPayload: Sendable {
    enum Content: Sendable {
        case file(SourceFile)
        case bytes([UInt8])
    }

    let content: Content
    let fileName: String
    let contentType: String?
    let size: Int64

    /// Makes what has to be made, and looks at the file.
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
        case .preparing: preconditionFailure("what was prepared is there")
        }
        self.fileName = fileName
        self.contentType = contentType
    }

    /// Bytes that are there.
    init(_ bytes: [UInt8], fileName: String, contentType: String?) {
        content = .bytes(bytes)
        size = Int64(bytes.count)
        self.fileName = fileName
        self.contentType = contentType
    }

    /// A file that was looked at.
    init(_ file: SourceFile, fileName: String, contentType: String?) {
        content = .file(file)
        size = file.stamp.size
        self.fileName = fileName
        self.contentType = contentType
    }

    /// Some of the bytes, as a body that looks whether the file is still what it was.
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

    /// Hands all bytes of a range on.
    func read(_ range: Range<Int64>, _ take: ([UInt8]) -> Void) async throws(StoreError) {
        let body = try body(range)
        do throws(BodyError) {
            try await body.read(take)
        } catch {
            throw StoreError(error)
        }
    }
}
