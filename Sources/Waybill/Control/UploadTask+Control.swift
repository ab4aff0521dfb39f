public import WaybillCore

extension UploadTask {
    /// Pauses the upload until ``resume()`` is called. May be called from any thread and repeatedly.
    ///
    /// The effect depends on the phase of the upload. The phase does not change; see ``UploadProgress/isPaused``.
    ///
    /// | phase | effect of a pause |
    /// | --- | --- |
    /// | waiting | The upload keeps its position in the queue and is skipped. Nothing is opened. |
    /// | preparing | The body is prepared. Then the upload waits as in the next row. |
    /// | queued, retrying | The upload keeps its position in the queue and is skipped. A retry delay continues. |
    /// | connecting, sending | Nothing more is sent. The connection stays open. |
    /// | awaitingResponse | None: a sent body can't be recalled. If the attempt fails, the next one waits. |
    /// | connecting, sending (request without a body) | As in awaitingResponse. |
    ///
    /// The connection and its slot are kept for ``UploadSession/Configuration/pauseKeepsSlot``, 20 seconds by default.
    /// Then the connection is closed and the next upload in the queue gets the slot. After ``resume()``, the body is
    /// sent from its first byte in a new attempt: ``AttemptDisposition/restart`` in the list of attempts. The new
    /// attempt does not count as a retry, even if the server closes the connection meanwhile. A body that can't be sent
    /// again (a stream that can be read once, or a policy with `retriesIncomplete` off) keeps its connection and its
    /// slot for as long as it is paused.
    ///
    /// While an upload is paused, only the limits `total` and `connect` of `TransferLimits` count. The other limits and
    /// the deadline of the ``RetryPolicy`` are suspended.
    ///
    /// ```swift
    /// button.onTap { task.isPaused ? task.resume() : task.pause() }
    /// ```
    ///
    /// If several `UploadTask`s share one transfer (same ``UploadOptions/deduplicationKey``), it pauses only when all
    /// of them are paused. In a closed session, this method does nothing. A session that is closing in drain mode
    /// resumes paused uploads.
    public func pause() { setPaused(true) }

    /// Resumes the upload after ``pause()``, ``UploadGroup/pause()`` or ``UploadSession/pauseAll()``. The most recent
    /// call wins.
    public func resume() { setPaused(false) }

    /// Whether the upload is paused, by this handle, its group or its session. `false` once the upload has ended. If
    /// several handles have joined the transfer, ``UploadProgress/isPaused`` reports whether the transfer itself is
    /// paused.
    public var isPaused: Bool { run.isPaused(handle) }

    /// Limits the rate of the upload in all its attempts, in bytes per second; `nil` removes the limit. Less than one
    /// byte per second counts as one. To stop sending, use ``pause()``.
    ///
    /// The limit replaces `TransferOptions.rateLimit`. The limits of the upload's group and session apply as well. If
    /// handles have joined one transfer, the most recent call wins.
    public func limit(to rate: ByteCount?) { run.limit(to: rate) }

    /// The limit that was set last for this upload, without those of its group and session.
    public var rateLimit: ByteCount? { run.ownLimit }

    /// Whether an upload with the same ``UploadOptions/deduplicationKey`` was already running when this handle was
    /// started. Nothing is sent for a joined handle: its progress, response and error are those of the transfer that it
    /// joined.
    public var isJoined: Bool { handle > 0 }

    /// The tags of the upload. See ``UploadOptions/tags``.
    public var tags: Set<String> { run.plan?.options.tags ?? [] }

    /// The name of the upload's group, if any. See ``UploadOptions/group``.
    public var group: String? { run.plan?.options.group }

    /// The state as in `Foundation.Operation`: ready, executing, finished or cancelled.
    public var state: UploadState { UploadState(run.currentProgress(for: handle).phase) }

    private func setPaused(_ isPaused: Bool) {
        run.core?.setPaused(run, handle, isPaused)
    }
}

/// The state of an upload as in `Foundation.Operation`. `finished` and `cancelled` are alternatives, and terminal.
public enum UploadState: String, Sendable, Hashable, CaseIterable {
    /// Waiting in the queue. Nothing is opened yet.
    case ready
    /// Running: from the preparation of the body to the response, including waits for a slot or a retry.
    case executing
    /// Ended with a response or an error.
    case finished
    /// Cancelled.
    case cancelled

    /// Creates the state that corresponds to a phase.
    public init(_ phase: UploadPhase) {
        switch phase {
        case .waiting: self = .ready
        case .preparing, .queued, .connecting, .sending, .awaitingResponse, .retrying: self = .executing
        case .succeeded, .failed: self = .finished
        case .cancelled: self = .cancelled
        }
    }
}
