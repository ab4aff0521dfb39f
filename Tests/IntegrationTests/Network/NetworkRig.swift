import TestSupport
import Waybill

/// A single session, and so a single transport with its pool of handles and connections: reveals state that leaks
/// from one upload into the next.
struct NetworkRig {
    let session = UploadSession()
    let bytes = [UInt8](repeating: 7, count: 20_000)

    func upload(
        to url: String, _ configure: (inout TransferOptions) -> Void = { _ in }
    ) async -> Result<UploadResponse, UploadError> {
        var options = UploadOptions()
        options.retry = .none
        configure(&options.transfer)
        do throws(UploadError) {
            return .success(try await session.upload(.data(bytes), to: url, options: options))
        } catch {
            return .failure(error)
        }
    }
}

extension Result<UploadResponse, UploadError> {
    var status: Int? { (try? get())?.status.code }
    var error: UploadError? { if case .failure(let error) = self { error } else { nil } }
    var code: UploadError.Code? { error?.code }
}
