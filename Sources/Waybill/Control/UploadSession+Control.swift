public import WaybillCore

extension UploadSession {
    // MARK: Finding

    /// The handles of all uploads that have not ended, in the order of their starts. One upload that several handles have
    /// joined is there once for each of them.
    ///
    /// ```swift
    /// for task in session.uploads { print(task) }
    /// ```
    public var uploads: [UploadTask] { core.members(of: nil).flatMap(\.tasks) }

    /// Those among ``uploads`` that have this tag: ``UploadOptions/tags``.
    ///
    /// ```swift
    /// session.uploads(taggedWith: "order 7").forEach { $0.priority = .high }
    /// ```
    public func uploads(taggedWith tag: String) -> [UploadTask] {
        core.members(of: nil).filter { $0.plan?.options.tags.contains(tag) == true }.flatMap(\.tasks)
    }

    /// The upload with this id, while it lives; of several joined handles the oldest.
    public func upload(id: UploadID) -> UploadTask? { core.run(id)?.tasks.first }

    /// The uploads of a group, to be controlled as one.
    public func group(_ name: String) -> UploadGroup { UploadGroup(name: name, core: core) }

    // MARK: All at once

    /// Pauses all uploads, and those that are started from now on, in groups too: see ``UploadTask/pause()``. The last word
    /// counts: single uploads and groups can be resumed after it.
    public func pauseAll() { core.setPaused(group: nil, true) }

    /// Resumes all uploads and groups, however they were paused.
    public func resumeAll() { core.setPaused(group: nil, false) }

    /// Whether uploads outside of groups start paused.
    public var isPaused: Bool { core.isPaused(group: nil) }

    /// Cancels all uploads that have not ended. The session stays open.
    ///
    /// - Complexity: O(n log n) in their number: a hundred thousand at once are a matter of a moment.
    public func cancelAll() { core.cancel(group: nil) }

    // MARK: Rate

    /// Limits the bodies of all uploads together to so many bytes per second from now on; `nil` lifts the limit. It
    /// takes the place of ``Configuration/rateLimit``.
    ///
    /// Transfers that are sending share it equally, each within its own limit and that of its group; what one may not use
    /// falls to the others. Shares are worked out anew when a transfer begins to send, ends, stands still or waits for its
    /// answer, and when a limit changes. They go by number and not by need: what a slow peer leaves of its share is not
    /// lent to others.
    ///
    /// ```swift
    /// session.limit(to: .mebibytes(1))          // office hours
    /// session.limit(to: nil)                    // night
    /// ```
    public func limit(to rate: ByteCount?) { core.limit(group: nil, to: rate) }
}

extension UploadRun {
    /// A handle for each that is there.
    var tasks: [UploadTask] { handles.map { UploadTask(run: self, handle: $0) } }
}
