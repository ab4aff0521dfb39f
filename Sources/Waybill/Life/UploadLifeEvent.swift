package import WaybillCore

extension UploadStateMachine {
    /// The events of an upload. Any event may arrive at any time; events that do not apply to the state are ignored.
    ///
    /// Large payloads are stored indirectly (`indirect`), so that the many small events are cheap to pass.
    package enum Event: Sendable {
        /// The upload starts.
        case started
        /// The request is invalid, or the session is closed.
        indirect case refused(UploadError)
        /// The queue allows the upload to prepare its body.
        case mayPrepare
        /// The body is prepared.
        case prepared(total: Int64?, isReplayable: Bool)
        /// The body can't be prepared.
        indirect case preparationFailed(UploadError)
        /// The queue gave the upload a slot, at this time after the start of its first attempt.
        case admitted(elapsed: Duration = .zero)
        /// The transport reported an event of an attempt, at this time after the start of the first one. The random
        /// number in 0...1 is for the delay after its end.
        case transfer(TransferEvent, attempt: Int, jitter: Double, elapsed: Duration = .zero)
        /// Whether the budget grants a retry after this attempt.
        case retryDecided(attempt: Int, isGranted: Bool)
        /// A new credential is available to replace the one that was rejected in this attempt.
        case credentialReady(attempt: Int)
        /// No new credential is available.
        indirect case credentialFailed(attempt: Int, UploadError)
        /// The delay before this attempt has elapsed.
        case retryDue(attempt: Int)
        /// The caller paused the upload, at this time after the start of the first attempt.
        case pause(elapsed: Duration = .zero)
        /// The caller resumed the upload.
        case resume(elapsed: Duration = .zero)
        /// The time for which this pause keeps a slot has elapsed.
        case slotReturnDue(pause: Int)
        /// The rate limit of the transfer changed; `nil` for no limit.
        case rateChanged(ByteCount?)
        /// The caller cancelled the upload.
        case cancel
        /// The session is closing and cancels its uploads.
        case sessionClosing
    }

    /// The actions to perform, in the given order.
    package enum Action: Sendable {
        /// Join the first line, held if the upload is paused.
        case join(isHeld: Bool)
        /// Start preparing the body.
        case prepare
        /// Stop preparing the body. Its result is ignored.
        case stopPreparing
        /// Join the second line.
        case awaitSlot
        /// Join the second line again for another attempt, held if the upload is paused.
        case requeue(isHeld: Bool)
        /// Hold the position in the current line, so that the upload is skipped.
        case hold
        /// Release the position.
        case release
        /// Decline the call that was just received, and return to the previous line as held.
        case requeueHeld
        /// Leave the current line.
        case withdraw
        /// Pass the attempt to the transport.
        case startTransfer(attempt: Int)
        /// Cancel the transfer. Its end is still awaited.
        case cancelTransfer
        /// Pause the transfer with its connection open.
        case pauseTransfer
        /// Resume the transfer.
        case resumeTransfer
        /// Send `slotReturnDue` after this time.
        case scheduleSlotReturn(after: Duration, pause: Int)
        /// Cancel that timer.
        case unscheduleSlotReturn
        /// An attempt that was stopped by a pause is started again with this number; used for events and logs.
        case restarted(attempt: Int)
        /// Limit the rate of the transfer; `nil` for no limit.
        case limitTransfer(ByteCount?)
        /// Release the slot.
        case releaseSlot
        /// Request a retry after this attempt from the budget, and respond with `retryDecided`.
        case requestRetry(attempt: Int)
        /// Refresh the credential of this attempt, and respond with `credentialReady` or `credentialFailed`.
        case refreshCredential(attempt: Int)
        /// Stop refreshing the credential.
        case stopRefreshing
        /// Send the upload to this hop from now on.
        indirect case redirect(UploadRoute.Hop)
        /// Send `retryDue` after this time.
        case scheduleRetry(after: Duration, attempt: Int)
        /// Cancel that timer.
        case unscheduleRetry
        /// Publish the snapshot to the listeners.
        case publish(UploadSnapshot)
        /// Finish the upload. This is the last action.
        indirect case finish(Result<UploadResponse, UploadError>)
    }
}

/// The progress as known to the state machine. The driver creates an ``UploadProgress`` from it if there are listeners.
package struct UploadSnapshot: Sendable, Hashable {
    package var phase: UploadPhase = .waiting
    package var attempt = 1
    package var sent: Int64 = 0
    package var acknowledged: Int64 = 0
    package var total: Int64?
    package var accuracy: ProgressAccuracy = .exact
    package var isPaused = false
    // Two plain values instead of an optional, because snapshots are copied at every event.
    private var isStoredConfirmed = false
    private var storedBytes: Int64 = -1
    /// The pending retry.
    package var retry: UploadRetry?

    package init() {}

    /// What the server's program has stored; `nil` unless the upload is resumable.
    package var stored: StoredProgress? {
        get { storedBytes < 0 ? nil : StoredProgress(bytes: storedBytes, isConfirmed: isStoredConfirmed) }
        set {
            storedBytes = newValue?.bytes ?? -1
            isStoredConfirmed = newValue?.isConfirmed ?? false
        }
    }
}
