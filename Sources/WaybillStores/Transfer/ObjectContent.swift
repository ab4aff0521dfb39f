import Crypto
public import WaybillCore
public import WaybillMultipart

/// What an object is made of: a file, bytes, or a stream.
///
/// ```swift
/// try await client.put(.file(path: "scan.pdf"), to: "scans/7.pdf")
/// ```
///
/// Nothing is opened when a content is made.
public struct ObjectContent: Sendable {
    enum Kind: Sendable {
        case file(path: String)
        case body(any UploadBody)
    }

    let kind: Kind

    /// The bytes of a regular file. It must stay as it is until the upload ends; a change is noticed and is an error.
    public static func file(path: String) -> ObjectContent { ObjectContent(kind: .file(path: path)) }

    /// Bytes in memory.
    public static func data(_ bytes: some Sequence<UInt8>) -> ObjectContent {
        ObjectContent(kind: .body(DataBody(Array(bytes))))
    }

    /// A sequence of chunks, sent as they come.
    ///
    /// It can be read once. So a request that has to be made a second time, because it broke, because the clock was wrong or
    /// the credentials had run out, fails instead, and its message says so; unless `replay` keeps a copy. Without a
    /// length, the body is sent chunked.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks, length: Int64? = nil, replay: StreamReplay = .never
    ) -> ObjectContent where Chunks.Element: Sequence<UInt8> {
        ObjectContent(kind: .body(SequenceBody(chunks, length: length, replay: replay)))
    }

    /// A body of your own.
    public static func body(_ body: any UploadBody) -> ObjectContent { ObjectContent(kind: .body(body)) }

    /// Returns the number of bytes, as far as it is known before the content is opened.
    func expectedLength() async -> ExpectedLength? {
        switch kind {
        case .body(let body): body.length.map { ExpectedLength($0) }
        case .file(let path): await FileSize.of(path).map { ExpectedLength($0) }
        }
    }

    /// What is sent. A file is looked at, where waiting for a disk is allowed.
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
    /// What a file or a stream has against being read. The code keeps its name.
    init(_ error: BodyError) {
        self.init(Code(error.code.description), error.message, outcome: .notSent, cause: error)
    }
}

extension SourceFile {
    /// Looks at a file that is going to be sent in ranges, where waiting for a disk is allowed.
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
    /// A range of a file that was looked at as a whole.
    static func range(_ range: Range<Int64>, of source: SourceFile) throws(StoreError) -> FileBody {
        do throws(BodyError) {
            return try FileBody(range: range, of: source)
        } catch {
            throw StoreError(error)
        }
    }

    /// The checksum of a range, read off the disk and sent nowhere.
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

    /// The MD5 of a range in capital hexadecimal digits, read off the disk and sent nowhere.
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
