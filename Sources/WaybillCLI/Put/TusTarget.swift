import HTTPTypes
import Waybill
import WaybillStores

/// A tus server, which creates an upload for each file.
struct TusTarget: PutTarget {
    private let url: String
    private let headers: HTTPFields
    private let metadata: [String: String]
    private let session: UploadSession
    private let options: UploadOptions

    init(
        _ url: String, headers: HTTPFields, metadata: [String: String], session: UploadSession,
        options: UploadOptions, resume: ResumeOptions
    ) {
        (self.url, self.headers, self.metadata, self.session) = (url, headers, metadata, session)
        var options = options
        options.resume = resume
        self.options = options
    }

    func location(of key: String) -> String { Redaction.url(url) }

    func check(key: String) throws(StoreError) {}

    func start(_ file: PutFile) -> PutTransfer {
        var options = options
        options.resume?.metadata = Self.metadata(of: file, metadata)
        let task = session.start(.file(path: file.source), to: url, method: .post, headers: headers, options: options)
        return PutTransfer(
            size: file.size,
            watch: { body in
                await task.follow { progress in
                    body(
                        PutSnapshot(
                            acknowledged: progress.acknowledged, bytesPerSecond: progress.bytesPerSecond,
                            retry: progress.retry))
                }
            }, stop: { task.cancel() }, end: { await Self.result(of: task) })
    }

    /// The metadata of a file: its name, its type if the name extension tells it, and the given values.
    static func metadata(of file: PutFile, _ given: [String: String]) -> [String: String] {
        var metadata = ["filename": file.key]
        metadata["filetype"] = ContentTypeTable.standard.type(forFile: file.path)
        return metadata.merging(given) { $1 }
    }

    private static func result(of task: UploadTask) async -> Result<PutStored, StoreError> {
        do throws(UploadError) {
            let response = try await task.response
            let url = response.uploadURL ?? ""
            return .success(
                PutStored(url: url, members: ["status": response.status.code, "headers": ResponseHead(response)]))
        } catch {
            return .failure(StoreError(error))
        }
    }
}
