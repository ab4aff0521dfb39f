import Waybill
import WaybillCore
import WaybillMultipart

extension UploadContent {
    /// Returns the body of an object. A file is inspected on a thread that may block.
    func objectBody() async throws(StoreError) -> any UploadBody {
        do {
            switch kind {
            case .empty: return DataBody([])
            case .body(let body): return body
            case .file(let path, let type): return try await FileBody.inspecting(path, contentType: type)
            case .form(let form): return try await form.prepared()
            case .notAFile(let url):
                throw UploadError(
                    .invalidRequest,
                    "The URL \(Redaction.url(url)) is not a file URL, which content from a file requires.",
                    phase: .preparing)
            }
        } catch let error as BodyError {
            throw StoreError(error)
        } catch {
            throw StoreError(UploadError(preparing: error))
        }
    }

    /// Returns the content type that the caller has set, if any.
    func statedType(of body: any UploadBody) -> String? {
        switch kind {
        case .file(_, let type): type
        case .body, .form: body.contentType
        case .empty, .notAFile: nil
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
        of range: Range<Int64>, in source: SourceFile, _ kind: RunningChecksum
    ) async throws(StoreError) -> RunningChecksum {
        let body = try self.range(range, of: source)
        do throws(BodyError) {
            return try await body.checksum(kind)
        } catch {
            throw StoreError(error)
        }
    }

    /// Returns the MD5 of a range in upper-case hexadecimal digits without sending it.
    static func digest(of range: Range<Int64>, in source: SourceFile) async throws(StoreError) -> String {
        try await checksum(of: range, in: source, .md5).text.uppercased()
    }
}
