import Crypto
public import WaybillCore
public import WaybillMultipart

/// The content of an object: a file, bytes, or a stream.
///
/// ```swift
/// try await client.put(.file(path: "scan.pdf"), to: "scans/7.pdf")
/// ```
///
/// Creating a content does not open the file.
public struct ObjectContent: Sendable {
    enum Kind: Sendable {
        case file(path: String)
        case body(any UploadBody)
    }

    let kind: Kind

    /// Returns the content of a regular file. The file must not change until the upload ends; a change is detected and
    /// fails the upload.
    public static func file(path: String) -> ObjectContent { ObjectContent(kind: .file(path: path)) }

    /// Returns a content of bytes in memory.
    public static func data(_ bytes: some Sequence<UInt8>) -> ObjectContent {
        ObjectContent(kind: .body(DataBody(Array(bytes))))
    }

    /// Returns a content of chunks that are sent as they arrive.
    ///
    /// The sequence can be read only once. A request that would have to be repeated, because it failed, the clock was
    /// wrong or the credentials had expired, therefore fails with a message that says so, unless `replay` keeps a copy.
    /// Without a length, the body is sent with chunked transfer coding.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64? = nil, replay: StreamReplay = .never
    ) -> ObjectContent where Chunks.Element: Sequence<UInt8> {
        ObjectContent(kind: .body(SequenceBody(chunks, length: length, replay: replay)))
    }

    /// Returns a content with a custom body.
    public static func body(_ body: any UploadBody) -> ObjectContent { ObjectContent(kind: .body(body)) }

    /// Returns the number of bytes, as far as it is known before the content is opened.
    func expectedLength() async -> ExpectedLength? {
        switch kind {
        case .body(let body): body.length.map { ExpectedLength($0) }
        case .file(let path): await FileSize.of(path).map { ExpectedLength($0) }
        }
    }

    /// Returns the body. A file is examined on a thread where blocking on a disk is allowed.
    func body() async throws(StoreError) -> any UploadBody {
        switch kind {
        case .body(let body): return body
        case .file(let path):
            do throws(BodyError) {
                return try await FileBody.looking(at: path)
            } catch {
                throw StoreError(error)
            }
        }
    }
}

extension StoreError {
    /// Converts the error of a file or stream that can't be read. The name of the code is preserved.
    init(_ error: BodyError) {
        self.init(Code(error.code.description), error.message, outcome: .notSent, cause: error)
    }
}

extension SourceFile {
    /// Examines a file that is to be sent in ranges, on a thread where blocking on a disk is allowed.
    static func look(at path: String) async throws(StoreError) -> SourceFile {
        do throws(BodyError) {
            return try await ReaderPool.shared.run(reading: path) { () throws(BodyError) in
                try SourceFile(inspecting: path, at: nil)
            }
        } catch {
            throw StoreError(error)
        }
    }
}

extension FileBody {
    /// Returns a body with a range of a file that has been examined as a whole.
    static func range(_ range: Range<Int64>, of source: SourceFile) throws(StoreError) -> FileBody {
        do throws(BodyError) {
            return try FileBody(range: range, of: source)
        } catch {
            throw StoreError(error)
        }
    }

    /// Returns the checksum of a range without sending it.
    static func checksum(
        of range: Range<Int64>, in source: SourceFile, _ kind: RunningChecksum = .crc64
    ) async throws(StoreError) -> UInt64 {
        let body = try self.range(range, of: source)
        do throws(BodyError) {
            return try await body.checksum(kind)
        } catch {
            throw StoreError(error)
        }
    }

    /// Returns the MD5 of a range in upper-case hexadecimal digits without sending it.
    static func digest(of range: Range<Int64>, in source: SourceFile) async throws(StoreError) -> String {
        let body = try self.range(range, of: source)
        var digest = Insecure.MD5()
        do throws(BodyError) {
            try await body.read { digest.update(data: $0) }
        } catch {
            throw StoreError(error)
        }
        return MessageAuthentication.hexadecimal(Array(digest.finalize())).uppercased()
    }
}
