import WaybillCore
package import WaybillMultipart

/// An upload that a batch runs: of a session, an object store or the command-line tool.
package protocol BatchUpload: Sendable {
    associatedtype Value: Sendable
    associatedtype Failure: BatchFailure
    associatedtype Snapshot: BatchSnapshot

    /// Whether starting an upload runs no code of the caller, so that the batch may start it under its lock.
    static var startsWithoutCallbacks: Bool { get }
    /// Whether the rate of a batch is the sum of the rates of its uploads. Otherwise it is derived from the bytes of
    /// the batch.
    static var sumsRates: Bool { get }

    func pause()
    func resume()
    func cancel()
    /// Stops the upload from sending more. Called for all uploads of a batch before the first of them is cancelled.
    func prepareToCancel()
    /// Calls back with each snapshot until the upload ends or the callback returns `false`.
    func follow(_ body: (Snapshot) -> Bool) async
    /// Waits for the end of the upload.
    func finished() async -> Result<Value, Failure>
    /// Returns the acknowledged bytes of an upload that has ended, and the length of its body if that is known.
    func bytes(of result: Result<Value, Failure>) -> (acknowledged: Int64, total: Int64?)
}

extension BatchUpload {
    package func prepareToCancel() {}
}

/// The part of an upload's progress that a batch needs.
package protocol BatchSnapshot: Sendable {
    var acknowledged: Int64 { get }
    /// The length of the body; `nil` while it is unknown.
    var total: Int64? { get }
    var bytesPerSecond: Double { get }
    /// Whether an attempt is on the wire.
    var isTransferring: Bool { get }
}

/// The error of an item of a batch.
package protocol BatchFailure: Error {
    /// The error of an item that was cancelled before its upload started.
    static var cancelledBeforeStart: Self { get }

    /// Creates an error from one that the caller's closure threw for an item.
    init(ofItem error: any Error)

    var isCancelled: Bool { get }
    /// Whether every further item would fail in the same way.
    var isSessionClosed: Bool { get }
}

/// The result of the caller's closure for an item: an upload that is not started yet.
package struct BatchWork<Upload: Sendable>: Sendable {
    /// Returns the length of the body, if known before the body is prepared.
    let expectedLength: @Sendable () async -> ExpectedLength?
    let start: @Sendable () -> Upload

    package init(
        expectedLength: @escaping @Sendable () async -> ExpectedLength? = { nil },
        start: @escaping @Sendable () -> Upload
    ) {
        (self.expectedLength, self.start) = (expectedLength, start)
    }
}

// MARK: - Uploads of a session

extension UploadTask: BatchUpload {
    // Starting an upload calls the caller's logger and transport.
    package static var startsWithoutCallbacks: Bool { false }
    package static var sumsRates: Bool { false }

    package func follow(_ body: (UploadProgress) -> Bool) async {
        for await progress in progress {
            guard body(progress) else { return }
        }
    }

    package func finished() async -> Result<UploadResponse, UploadError> {
        do throws(UploadError) {
            return .success(try await response)
        } catch {
            return .failure(error)
        }
    }

    package func bytes(of result: Result<UploadResponse, UploadError>) -> (acknowledged: Int64, total: Int64?) {
        switch result {
        case .success(let response):
            let sent = response.attempts.map(\.sent).max() ?? 0
            return (sent, sent)
        case .failure(let error): return (error.attempts.map(\.acknowledged).max() ?? error.acknowledged, nil)
        }
    }
}

extension UploadProgress: BatchSnapshot {
    package var isTransferring: Bool { phase.isOnWire && !isPaused }
}

extension UploadError: BatchFailure {
    package static var cancelledBeforeStart: UploadError {
        UploadError(.cancelled, "The item was cancelled before its upload started.", phase: .cancelled)
    }

    package var isSessionClosed: Bool { code == .sessionClosed }

    package init(ofItem error: any Error) {
        self =
            error as? UploadError
            ?? UploadError(
                .preparationFailed, "The closure threw an error instead of returning a request. See the cause.",
                phase: .preparing,
                cause: error)
    }
}
