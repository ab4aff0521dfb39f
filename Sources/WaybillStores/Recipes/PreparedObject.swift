import Crypto
public import FoundationEssentials
public import WaybillCore
public import WaybillJPEG
import WaybillMultipart

/// An object prepared by a recipe: its key, content and metadata, ready to be uploaded.
public struct PreparedObject: Sendable {
    /// The object key.
    public var key: String
    /// The location of the content.
    public var source: PreparedPart.Content
    /// The size of the content in bytes.
    public var length: Int64
    /// The content type.
    public var contentType: String
    /// The metadata, by name without the store's prefix.
    public var metadata: [String: String]
    /// The SHA-256 of the content in lower-case hexadecimal, if the key requires it.
    public var sha256: String?
    /// The report of the image compression; `nil` if there was none.
    public var report: JPEGReport?
}

extension UploadRecipe {
    /// Prepares the object of a file: compresses the image if the recipe has image options, computes digests if the key
    /// requires them, and renders the key.
    ///
    /// A file that is sent unchanged is read here only for digests, and again when it is sent.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - parameters: The values of the parameters of the key.
    ///   - fileName: The file name for the key; the last component of the path by default.
    ///   - date: The date for the key.
    ///   - uuid: The UUID for the key.
    /// - Returns: The key and the content, ready to be uploaded.
    /// - Throws: ``StoreError`` for the key, or with the code of the file or image error.
    public func prepare(
        file path: String, parameters: [String: String] = [:], fileName: String? = nil,
        date: FoundationEssentials.Date = .now, uuid: UUID = UUID()
    ) async throws(StoreError) -> PreparedObject {
        let values = values(parameters, fileName ?? path, date, uuid)
        do {
            if let image {
                return try finished(await JPEGRecompressor(image).recompress(file: path), values)
            }
            let body = try FileBody(path: path, contentType: contentType)
            let digests = key.needsDigest ? try await Digests(of: body) : nil
            return try finished(
                .file(path: path), length: body.length ?? 0, type: body.contentType ?? "application/octet-stream",
                digests, values)
        } catch {
            throw StoreError(preparing: error, of: name)
        }
    }

    /// Prepares the object of bytes in memory.
    public func prepare(
        _ bytes: [UInt8], parameters: [String: String] = [:], fileName: String? = nil,
        date: FoundationEssentials.Date = .now, uuid: UUID = UUID()
    ) async throws(StoreError) -> PreparedObject {
        let values = values(parameters, fileName, date, uuid)
        do {
            if let image {
                return try finished(await JPEGRecompressor(image).recompress(bytes), values)
            }
            let type = contentType ?? fileName.flatMap { ContentTypeTable.standard.type(forFile: $0) }
            return try finished(
                .bytes(bytes), length: Int64(bytes.count), type: type ?? "application/octet-stream",
                key.needsDigest ? Digests(of: bytes) : nil, values)
        } catch {
            throw StoreError(preparing: error, of: name)
        }
    }

    private func values(
        _ parameters: [String: String], _ fileName: String?, _ date: FoundationEssentials.Date, _ uuid: UUID
    ) -> ObjectKeyValues {
        ObjectKeyValues(parameters: parameters, fileName: fileName, date: date, utcOffset: utcOffset, uuid: uuid)
    }

    /// Creates the object of a compressed image. Its file name gets the extension of its format.
    private func finished(_ result: JPEGResult, _ values: ObjectKeyValues) throws(StoreError) -> PreparedObject {
        var values = values
        let format = result.report.format
        values.fileName = "\(SanitizedFileName(values.fileName).stem).\(format.fileExtensions[0])"
        var object = try finished(
            .bytes(result.bytes), length: Int64(result.bytes.count), type: contentType ?? format.contentType,
            key.needsDigest ? Digests(of: result.bytes) : nil, values)
        object.report = result.report
        return object
    }

    private func finished(
        _ source: PreparedPart.Content, length: Int64, type: String, _ digests: Digests?, _ values: ObjectKeyValues
    ) throws(StoreError) -> PreparedObject {
        var values = values
        values.sha256 = digests?.sha256
        values.md5 = digests?.md5
        return PreparedObject(
            key: try key.key(for: values), source: source, length: length, contentType: type, metadata: metadata,
            sha256: digests?.sha256)
    }
}

/// The digests that a key can contain.
struct Digests {
    let sha256: String
    let md5: String

    init(of bytes: [UInt8]) {
        sha256 = MessageAuthentication.hexadecimal(Array(SHA256.hash(data: bytes)))
        md5 = MessageAuthentication.hexadecimal(Array(Insecure.MD5.hash(data: bytes)))
    }

    /// Reads a file once, as for sending: a change in the meantime is an error.
    init(of body: FileBody) async throws(BodyError) {
        var (long, short) = (SHA256(), Insecure.MD5())
        for try await chunk in body.chunks {
            long.update(data: chunk)
            short.update(data: chunk)
        }
        sha256 = MessageAuthentication.hexadecimal(Array(long.finalize()))
        md5 = MessageAuthentication.hexadecimal(Array(short.finalize()))
    }
}
