public import WaybillCore

extension UploadSession {
    // MARK: Lookup

    /// The handles of all uploads that have not ended, in the order they were started. A transfer that several handles
    /// have joined appears once for each handle.
    ///
    /// ```swift
    /// for task in session.uploads { print(task) }
    /// ```
    public var uploads: [UploadTask] { core.members(of: nil).flatMap(\.tasks) }

    /// Returns the handles in ``uploads`` that have a tag. See ``UploadOptions/tags``.
    ///
    /// ```swift
    /// session.uploads(taggedWith: "order 7").forEach { $0.priority = .high }
    /// ```
    public func uploads(taggedWith tag: String) -> [UploadTask] {
        core.members(of: nil).filter { $0.plan?.options.tags.contains(tag) == true }.flatMap(\.tasks)
    }

    /// Returns the upload with an ID, or `nil` after it has ended. If several handles have joined the transfer, returns
    /// the oldest one.
    public func upload(id: UploadID) -> UploadTask? { core.run(id)?.tasks.first }

    /// Returns a group of uploads, which are controlled together.
    public func group(_ name: String) -> UploadGroup { UploadGroup(name: name, core: core) }

    // MARK: All uploads

    /// Pauses all current uploads and uploads that are started later, including those in groups. See
    /// ``UploadTask/pause()``. The most recent call wins: single uploads and groups can be resumed afterwards.
    public func pauseAll() { core.setPaused(group: nil, true) }

    /// Resumes all uploads and groups, however they were paused.
    public func resumeAll() { core.setPaused(group: nil, false) }

    /// Whether uploads outside of groups start paused.
    public var isPaused: Bool { core.isPaused(group: nil) }

    /// Cancels all uploads that have not ended. The session stays open.
    ///
    /// - Complexity: O(n log n), where n is the number of uploads.
    public func cancelAll() { core.cancel(group: nil) }

    // MARK: Rate

    /// Limits the combined body rate of all uploads, in bytes per second; `nil` removes the limit. The new limit
    /// replaces ``Configuration/rateLimit``.
    ///
    /// Transfers that are sending get equal shares, each within its own limit and that of its group. The part of a
    /// share that exceeds a transfer's own limit is distributed among the others. Shares are recomputed when a transfer
    /// begins to send, ends, is paused, or waits for its response, and when a limit changes. A share that a slow peer
    /// leaves unused is not redistributed.
    ///
    /// ```swift
    /// session.limit(to: .mebibytes(1))          // office hours
    /// session.limit(to: nil)                    // night
    /// ```
    public func limit(to rate: ByteCount?) { core.limit(group: nil, to: rate) }
}

extension UploadRun {
    /// A task for each handle of the run that is still attached.
    var tasks: [UploadTask] { handles.map { UploadTask(run: self, handle: $0) } }
}
