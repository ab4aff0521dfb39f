import Glibc
import Waybill

private func firstScreen() async {
    // snippet: first screen
    let form: MultipartForm = [
        .text("TOKEN", .secret("specimen-token")),
        .image("FILE", path: "front.jpg", fileName: "IDFrontImage.jpg", .maxBytes(.kibibytes(100))),
    ]
    do {
        let response = try await UploadSession.shared.upload(form, to: "https://backend.example/upload") { progress in
            print(progress.phase, progress.acknowledged, "of", progress.total ?? 0)
        }
        print(response.status, response.text)
    } catch {
        print(error)
        exit(1)
    }
    // end
}

private func outcomes(session: UploadSession, form: MultipartForm, url: String) async {
    // snippet: outcomes
    do {
        let response = try await session.upload(form, to: url)
        print(response.status, response.text)
    } catch {
        switch error.outcome {
        case _ where error.isCancelled: break
        case .notSent where error.isRetryable, .incomplete where error.isRetryable:
            queueForLater(form)  // the server cannot have acted on it
        case .notSent, .incomplete, .rejected:
            showToUser(error.message)  // again would fail again, or the server said no
        case .unknown, .processed:
            askServerFirst(error.response)  // it may have stored it: look before you send again
        }
    }
    // end
}

private func details(_ error: UploadError) {
    // snippet: error details
    if error.isTimeout { print("gave up after \(error.attempts.count) attempts") }
    if error.code == .sourceChanged { print("\(error.part ?? "the file") was written while it was sent") }
    // end
}

private func queueForLater(_ form: MultipartForm) {}
private func showToUser(_ message: String) {}
private func askServerFirst(_ response: UploadResponse?) {}
