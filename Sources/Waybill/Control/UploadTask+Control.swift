public import WaybillCore

extension UploadTask {
    /// Makes the upload stand still until ``resume()``. Safe from anywhere and any number of times.
    ///
    /// What that means depends on where it stands; its phase stays what it was, and ``UploadProgress/isPaused`` tells:
    ///
    /// | phase | what a pause does |
    /// | --- | --- |
    /// | waiting | it keeps its place in line and is passed over; nothing is opened |
    /// | preparing | the body is made, then it waits as in the next row |
    /// | queued, retrying | it keeps its place in line and is passed over; a wait for a retry goes on |
    /// | connecting, sending | nothing more is sent; the connection stays open |
    /// | awaitingResponse, and every request without a body | nothing: what has left can't be taken back. If the attempt fails, the next one waits |
    ///
    /// A connection is kept for ``UploadSession/Configuration/pauseKeepsSlot``, 20 seconds by default; the slot is taken
    /// meanwhile. Then it is closed, the slot goes to the next in line, and after ``resume()`` the body is sent from its
    /// first byte, as a new attempt: ``AttemptSequel/restart`` in the list of attempts. No retry is spent on that, nor when
    /// the server ends the connection meanwhile. A body that can't be sent again (a stream that can be read once, or a
    /// policy with `retriesIncomplete` off) keeps its connection and its slot for as long as it is paused.
    ///
    /// No limit of `TransferLimits` but `total` and `connect` counts while it is paused, nor does the deadline of the
    /// ``RetryPolicy``.
    ///
    /// ```swift
    /// button.onTap { task.isPaused ? task.resume() : task.pause() }
    /// ```
    ///
    /// Where handles have joined one transfer, it stands still when all of them are paused. Pausing in a session that was
    /// closed does nothing; one that drains resumes whoever is paused.
    public func pause() { setPaused(true) }

    /// Lets the upload go on after ``pause()``, after ``UploadGroup/pause()`` or ``UploadSession/pauseAll()``: the last
    /// word counts.
    public func resume() { setPaused(false) }

    /// Whether the upload was told to stand still through this handle, its group or its session, and not to go on since.
    /// `false` once it has ended. Whether a transfer stands that several handles have joined, ``UploadProgress/isPaused``
    /// tells.
    public var isPaused: Bool { run.isPaused(handle) }

    /// Limits the upload to so many bytes per second from now on, in all attempts; `nil` lifts the limit. Less than one
    /// byte counts as one: to stop, use ``pause()``.
    ///
    /// It takes the place of `TransferOptions.rateLimit`. Limits of its group and of the session hold besides. Where
    /// handles have joined one transfer, the last word counts.
    public func limit(to rate: ByteCount?) { run.limit(to: rate) }

    /// The limit of this upload alone, as it was set last.
    public var rateLimit: ByteCount? { run.ownLimit }

    /// Whether the upload was already under way under the same ``UploadOptions/deduplicationKey`` when this handle was
    /// started: then nothing was sent for it, and progress, answer and error are those of the transfer that it joined.
    public var isJoined: Bool { handle > 0 }

    /// The names to find it by: ``UploadOptions/tags``.
    public var tags: Set<String> { run.plan?.options.tags ?? [] }

    /// The name of its group, if it has one: ``UploadOptions/group``.
    public var group: String? { run.plan?.options.group }

    /// Where it stands, in the four words of operation queues.
    public var state: UploadState { UploadState(run.currentProgress(for: handle).phase) }

    private func setPaused(_ isPaused: Bool) {
        run.core?.setPaused(run, handle, isPaused)
    }
}

/// Where an upload stands, in four words. They come in this order, and the last two are ends.
public enum UploadState: String, Sendable, Hashable, CaseIterable {
    /// In line; nothing is opened yet.
    case ready
    /// At work: from the making of the body to the answer, waits for a slot or a retry included.
    case executing
    /// Over, with an answer or an error.
    case finished
    /// Cancelled.
    case cancelled

    /// The word for a phase.
    public init(_ phase: UploadPhase) {
        switch phase {
        case .waiting: self = .ready
        case .preparing, .queued, .connecting, .sending, .awaitingResponse, .retrying: self = .executing
        case .succeeded, .failed: self = .finished
        case .cancelled: self = .cancelled
        }
    }
}
