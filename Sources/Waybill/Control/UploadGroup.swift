public import WaybillCore

/// A named group of uploads of a session that are controlled together. An upload joins with ``UploadOptions/group``.
///
/// ```swift
/// var options = UploadOptions()
/// options.group = "thumbnails"
/// session.start(form, to: url, options: options)
///
/// let thumbnails = session.group("thumbnails")
/// thumbnails.maximumConcurrentTransfers = 2   // two concurrently, of the eight of the session
/// thumbnails.limit(to: .kibibytes(200))       // per second, all of them together
/// thumbnails.pause()
/// ```
///
/// A group is only a name and does not have to be created. Its settings apply to its current and future uploads until
/// they are changed.
public struct UploadGroup: Sendable {
    /// The name of the group.
    public let name: String
    let core: SessionCore

    /// The handles of the group's uploads that have not ended, in the order they were started. See
    /// ``UploadSession/uploads``.
    public var uploads: [UploadTask] { core.members(of: name).flatMap(\.tasks) }

    /// Pauses the group's current uploads and the uploads that are started in it later. See ``UploadTask/pause()``.
    public func pause() { core.setPaused(group: name, true) }

    /// Resumes the group's uploads, and starts later ones unpaused, even while the rest of the session is paused. The
    /// most recent call wins.
    public func resume() { core.setPaused(group: name, false) }

    /// Whether uploads that are started in the group start paused.
    public var isPaused: Bool { core.isPaused(group: name) }

    /// Cancels the group's current uploads with all their handles. Uploads that are started later are not affected.
    ///
    /// - Complexity: O(n log n), where n is the number of uploads in the session.
    public func cancel() { core.cancel(group: name) }

    /// The number of transfers of the group that may run concurrently, 1 or more, within the slots of the session;
    /// `nil` for no limit besides the session's. Running transfers are not stopped. A full group does not delay other
    /// uploads.
    ///
    /// - Complexity: O(n log n), where n is the number of uploads in the session, when a limit is set or removed.
    public var maximumConcurrentTransfers: Int? {
        get { core.settings(of: name).slots }
        nonmutating set { core.setSlots(newValue, ofGroup: name) }
    }

    /// Limits the combined body rate of the group's uploads, in bytes per second; `nil` removes the limit. The uploads
    /// get equal shares, as described in ``UploadSession/limit(to:)``.
    public func limit(to rate: ByteCount?) { core.limit(group: name, to: rate) }

    /// The rate limit that was set last.
    public var rateLimit: ByteCount? { core.rateLimit(ofGroup: name) }
}
