// The samples of the guides to progress and to retries, compiled.
import Waybill

private struct Bar: Sendable {
    func show(_ fraction: Double, _ words: String) {}
    func show(_ part: String, _ fraction: Double) {}
    func showWaiting() {}
}

private func watched(_ session: UploadSession, _ form: MultipartForm, _ url: String, _ bar: Bar) async {
    // snippet: true progress
    let task = session.start(form, to: url)
    for await progress in task.progress {
        guard let fraction = progress.fraction, let total = progress.total else { continue }
        bar.show(fraction, "\(progress.acknowledged) of \(total) bytes, \(Int(progress.bytesPerSecond)) a second")
        for part in progress.parts { bar.show(part.name, Double(part.acknowledged) / Double(max(1, part.total))) }
        if progress.phase == .awaitingResponse { bar.showWaiting() }
    }
    // end
}

private func waiting(_ progress: UploadProgress) {
    // snippet: a retry that is waited for
    if let retry = progress.retry {
        print("retrying in \(retry.timeLeft): \(retry.reason) (attempt \(retry.number + 1) of \(retry.limit + 1))")
    }
    // end
}

private func retried(_ session: UploadSession, _ form: MultipartForm, _ url: String) async throws {
    // snippet: retry policy
    var options = session.options
    options.retry = RetryPolicy(maxRetries: 5, maxDelay: .seconds(10), deadline: .seconds(90))
    let response = try await session.upload(form, to: url, options: options)
    for attempt in response.attempts { print(attempt) }  // attempt 1: 503 Service Unavailable [retry after 1.5 seconds]
    // end
}

private func keyed(_ options: inout UploadOptions) {
    // snippet: honoured keys
    options.idempotency = .honoured(window: .seconds(23 * 3_600))  // the server keeps keys for a day
    // end
}

private func unknown(
    _ session: UploadSession, _ form: MultipartForm, _ url: String, _ businessNumber: String
) async throws {
    // snippet: unknown outcome
    do {
        _ = try await session.upload(form, to: url)
    } catch  where error.outcome == .unknown {
        if try await !isStored(businessNumber) { queueForLater(form) }  // look before you send again
    }
    // end
}

private func isStored(_ number: String) async throws -> Bool { false }
private func queueForLater(_ form: MultipartForm) {}
