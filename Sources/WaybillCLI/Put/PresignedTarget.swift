import HTTPTypes
import Waybill
import WaybillStores

/// A URL that somebody has signed.
struct PresignedTarget: PutTarget {
    private let upload: OSSPresignedUpload
    private let session: UploadSession
    private let options: UploadOptions

    init(_ url: String, headers: HTTPFields, session: UploadSession, options: UploadOptions) throws(StoreError) {
        upload = try OSSPresignedUpload(url, headers: headers)
        (self.session, self.options) = (session, options)
    }

    func place(of key: String) -> String { Redaction.url(upload.url.value) }

    func check(key: String) throws(StoreError) {}

    func start(_ file: PutFile) -> PutTransfer {
        var request: UploadRequest
        do throws(StoreError) {
            request = try upload.request(.file(path: file.source))
        } catch {
            return PutTransfer(failing: error)
        }
        var options = options
        options.omits = request.options?.omits ?? []
        request.options = options
        let task = session.start(request)
        let place = Self.withoutQuery(upload.url.value)
        return PutTransfer(
            watch: { body in
                for await progress in task.progress {
                    body(PutCount(acknowledged: progress.acknowledged, bytesPerSecond: progress.bytesPerSecond))
                }
            }, cancel: { task.cancel() },
            end: {
                do throws(UploadError) {
                    let response = try await task.response
                    // OSS says so when the object is there and the callback that was signed into the URL failed.
                    guard response.status.code != 203 else { return .failure(Self.callbackFailed(response)) }
                    return .success(
                        PutStored(
                            url: place, answer: response.body,
                            members: [
                                JSONMember("status", .int(Int64(response.status.code))),
                                JSONMember("headers", ResponseHead(response).value),
                                JSONMember("etag", .string(orNull: response.headers[.eTag])),
                            ]))
                } catch {
                    return .failure(StoreError(error))
                }
            })
    }

    private static func callbackFailed(_ response: UploadResponse) -> StoreError {
        let isOSS = response.headers[HTTPField.Name("x-oss-request-id")!] != nil
        var error =
            isOSS
            ? StoreError(.storedButCallbackFailed, "the object is stored, and the callback failed. Don't send it again")
            : StoreError(
                .unexpectedAnswer, "something answered 203 that is no store: look what is between here and there",
                outcome: .unknown)
        error.isStored = isOSS
        error.status = 203
        return error
    }

    private static func withoutQuery(_ url: String) -> String {
        String(Substring(url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }))
    }
}
