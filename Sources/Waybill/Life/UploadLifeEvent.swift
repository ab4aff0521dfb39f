package import WaybillCore

extension UploadStateMachine {
    /// What can happen to an upload. Any event may come at any time; what no longer fits is ignored.
    ///
    /// What is large is kept apart (`indirect`), so that the many small events are cheap to hand on.
    package enum Event: Sendable {
        /// The upload begins.
        case started
        /// The request can't be used, or the session is closed.
        indirect case refused(UploadError)
        /// The queue lets it prepare its body.
        case mayPrepare
        /// The body is ready.
        case prepared(total: Int64?, isReplayable: Bool)
        /// The body can't be made.
        indirect case preparationFailed(UploadError)
        /// The queue gave it a slot, so long after the start of its first attempt.
        case admitted(elapsed: Duration = .zero)
        /// The transport told something about an attempt, so long after the start of the first one. The random number in
        /// 0...1 is for the wait after its end.
        case transfer(TransferEvent, attempt: Int, jitter: Double, elapsed: Duration = .zero)
        /// Whether the budget has a retry for the attempt that ended.
        case retryAnswered(attempt: Int, isGranted: Bool)
        /// A fresh credential is there, for what this attempt was refused.
        case credentialReady(attempt: Int)
        /// None can be had.
        indirect case credentialFailed(attempt: Int, UploadError)
        /// The wait before this attempt is over.
        case retryDue(attempt: Int)
        /// The caller wants it to stand still, so long after the start of the first attempt.
        case pause(elapsed: Duration = .zero)
        /// And to go on.
        case resume(elapsed: Duration = .zero)
        /// The time for which this pause keeps a slot is over.
        case slotReturnDue(pause: Int)
        /// The transfer may send so many bytes per second from now on; `nil` for no limit.
        case rateChanged(ByteCount?)
        /// The caller wants no more.
        case cancel
        /// The session is closing and cancels what it has.
        case sessionClosing
    }

    /// What is to be done, in the order given.
    package enum Action: Sendable {
        /// Join the line of those that wait; held there if the upload is paused.
        case join(isHeld: Bool)
        /// Start making the body.
        case prepare
        /// Stop making the body; its result is no longer wanted.
        case stopPreparing
        /// Join the line of those that are ready.
        case awaitSlot
        /// Join that line again, for another attempt; held there if the upload is paused.
        case requeue(isHeld: Bool)
        /// Be passed over in whatever line it is in, and keep the place.
        case hold
        /// No longer be passed over.
        case release
        /// Give back what the queue has just called the upload to, and be passed over where it stood before.
        case stepBack
        /// Leave whatever line it is in.
        case withdraw
        /// Hand the attempt to the transport.
        case startTransfer(attempt: Int)
        /// Tell the transport to stop; its end is still awaited.
        case cancelTransfer
        /// Tell the transport to stand still, with the connection open.
        case pauseTransfer
        /// Tell the transport to go on.
        case resumeTransfer
        /// Come back with `slotReturnDue` after this time.
        case scheduleSlotReturn(after: Duration, pause: Int)
        /// Don't come back with it.
        case unscheduleSlotReturn
        /// The number of the attempt that sends anew what a pause had stopped: for whoever keeps records.
        case restarted(attempt: Int)
        /// Limit the transfer to so many bytes per second; `nil` for no limit.
        case limitTransfer(ByteCount?)
        /// Give the slot back.
        case releaseSlot
        /// Ask the budget for a retry after this attempt, and come back with `retryAnswered`.
        case askForRetry(attempt: Int)
        /// Get a fresh credential in place of the one of this attempt, and come back with `credentialReady` or
        /// `credentialFailed`.
        case refreshCredential(attempt: Int)
        /// The credential is no longer wanted.
        case stopRefreshing
        /// From now on, the upload goes there.
        indirect case redirect(UploadRoute.Hop)
        /// Come back with `retryDue` after this time.
        case scheduleRetry(after: Duration, attempt: Int)
        /// Don't come back.
        case unscheduleRetry
        /// Tell the listeners.
        case publish(UploadSnapshot)
        /// The one terminal event, and the last action of all.
        indirect case finish(Result<UploadResponse, UploadError>)
    }
}

/// What the machine knows of the position; the driver makes an ``UploadProgress`` of it when somebody listens.
package struct UploadSnapshot: Sendable, Hashable {
    package var phase: UploadPhase = .waiting
    package var attempt = 1
    package var sent: Int64 = 0
    package var acknowledged: Int64 = 0
    package var total: Int64?
    package var accuracy: ProgressAccuracy = .exact
    package var isPaused = false
    /// The retry that is waited for.
    package var retry: UploadRetry?

    package init() {}
}
