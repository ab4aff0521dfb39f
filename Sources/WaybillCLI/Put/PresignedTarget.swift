import HTTPTypes
import Waybill
import WaybillStores

/// A presigned URL.
struct PresignedTarget: PutTarget {
    private let upload: OSSPresignedUpload
    private let session: UploadSession
    private let options: UploadOptions

    init(_ url: String, headers: HTTPFields, session: UploadSession, options: UploadOptions) throws(StoreError) {
        upload = try OSSPresignedUpload(url, headers: headers)
        (self.session, self.options) = (session, options)
    }

    func location(of key: String) -> String { Redaction.url(upload.url.value) }

    func check(key: String) throws(StoreError) {}

    func start(_ file: PutFile) -> PutTransfer {
        var request: UploadRequest
        let check: @Sendable (UploadResponse) throws(StoreError) -> Void
        do {
            (request, check) = try upload.checkedRequest(try FileBody(path: file.source))
        } catch let error as StoreError {
            return PutTransfer(failing: error)
        } catch {
            return PutTransfer(failing: StoreError(UploadError(preparing: error)))
        }
        var options = options
        options.excludedDefaults = request.options?.excludedDefaults ?? []
        request.options = options
        let task = session.start(request)
        return PutTransfer(
            size: file.size,
            watch: { body in
                await task.follow { progress in
                    body(PutSnapshot(acknowledged: progress.acknowledged, bytesPerSecond: progress.bytesPerSecond))
                }
            }, stop: { task.cancel() }, end: { await result(of: task, check) })
    }

    private func result(
        of task: UploadTask, _ check: (UploadResponse) throws(StoreError) -> Void
    ) async -> Result<PutStored, StoreError> {
        let response: UploadResponse
        do throws(UploadError) { response = try await task.response } catch {
            return .failure(OSSPresignedUpload.error(error))
        }
        do throws(StoreError) { try check(response) } catch { return .failure(error) }
        return .success(
            PutStored(
                url: Self.withoutQuery(upload.url.value), responseBody: response.body,
                members: [
                    "status": response.status.code, "headers": ResponseHead(response),
                    "etag": response.headers[.eTag],
                ]))
    }

    private static func withoutQuery(_ url: String) -> String {
        String(Substring(url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }))
    }
}
