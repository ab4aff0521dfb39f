import Crypto
public import FoundationEssentials
public import WaybillJPEG
import WaybillMultipart

/// An object as its recipe made it: the key, the bytes, and what is said of them. What a store's client sends.
public struct PreparedObject: Sendable {
    /// Where the bytes are.
    public enum Source: Sendable {
        /// In memory: a picture that was made.
        case bytes([UInt8])
        /// In a file that goes out as it is.
        case file(path: String)
    }

    /// The key.
    public var key: String
    /// Where the bytes are.
    public var source: Source
    /// How many there are.
    public var length: Int64
    /// The content type.
    public var contentType: String
    /// Metadata, by name without the store's prefix.
    public var metadata: [String: String]
    /// The SHA-256 of the bytes in lower-case hexadecimal, where the key needed it.
    public var sha256: String?
    /// What became of the picture, where one was made.
    public var report: JPEGReport?
}

extension UploadRecipe {
    /// Makes the object of a file: the picture if there is one to make, the digests if the key wants them, the key.
    ///
    /// A file that goes out as it is, is read here only for the digests, and once more when it is sent.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - parameters: The values of the key's parameters.
    ///   - fileName: What the file is called in the key; the last component of the path unless told otherwise.
    ///   - date: The moment that dates in the key are of.
    ///   - uuid: The UUID in the key.
    /// - Returns: Key and bytes, ready to be sent.
    /// - Throws: ``StoreError``: of the key, or with the code of the file's or the picture's own error.
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
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(preparing: error, of: name)
        }
    }

    /// Makes the object of bytes in memory.
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
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(preparing: error, of: name)
        }
    }

    private func values(
        _ parameters: [String: String], _ fileName: String?, _ date: FoundationEssentials.Date, _ uuid: UUID
    ) -> ObjectKeyValues {
        ObjectKeyValues(parameters: parameters, fileName: fileName, date: date, utcOffset: utcOffset, uuid: uuid)
    }

    /// Of a picture that was made. Its name ends as its bytes do.
    private func finished(_ picture: JPEGResult, _ values: ObjectKeyValues) throws(StoreError) -> PreparedObject {
        var values = values
        values.fileName = "\(FileNameText(values.fileName).stem).jpg"
        var object = try finished(
            .bytes(picture.bytes), length: Int64(picture.bytes.count), type: contentType ?? "image/jpeg",
            key.needsDigest ? Digests(of: picture.bytes) : nil, values)
        object.report = picture.report
        return object
    }

    private func finished(
        _ source: PreparedObject.Source, length: Int64, type: String, _ digests: Digests?, _ values: ObjectKeyValues
    ) throws(StoreError) -> PreparedObject {
        var values = values
        values.sha256 = digests?.sha256
        values.md5 = digests?.md5
        return PreparedObject(
            key: try key.key(for: values), source: source, length: length, contentType: type, metadata: metadata,
            sha256: digests?.sha256)
    }
}

/// The digests that a key may be made of.
struct Digests {
    let sha256: String
    let md5: String

    init(of bytes: [UInt8]) {
        sha256 = Self.hexadecimal(SHA256.hash(data: bytes))
        md5 = Self.hexadecimal(Insecure.MD5.hash(data: bytes))
    }

    /// Reads a file once, as it would be sent: a change meanwhile is an error.
    init(of body: FileBody) async throws(BodyError) {
        var (long, short) = (SHA256(), Insecure.MD5())
        for try await chunk in body.chunks {
            long.update(data: chunk)
            short.update(data: chunk)
        }
        sha256 = Self.hexadecimal(long.finalize())
        md5 = Self.hexadecimal(short.finalize())
    }

    private static func hexadecimal(_ digest: some Sequence<UInt8>) -> String {
        digest.map { byte in
            let text = String(byte, radix: 16)
            return byte < 16 ? "0" + text : text
        }.joined()
    }
}
