public import WaybillCore

/// Uploads of a session that are controlled as one: those with this name in ``UploadOptions/group``.
///
/// ```swift
/// var options = UploadOptions()
/// options.group = "thumbnails"
/// session.start(form, to: url, options: options)
///
/// let thumbnails = session.group("thumbnails")
/// thumbnails.slots = 2                        // two at once, of the eight of the session
/// thumbnails.limit(to: .kibibytes(200))       // a second, all of them together
/// thumbnails.pause()
/// ```
///
/// A group needs no making: it is a name, and what is said of it holds for the uploads that are there and for those that
/// come, until something else is said.
public struct UploadGroup: Sendable {
    /// Its name.
    public let name: String
    let core: SessionCore

    /// Its living handles, in the order of their starts. See ``UploadSession/uploads``.
    public var uploads: [UploadTask] { core.members(of: name).flatMap(\.tasks) }

    /// Pauses its uploads, and those that are started in it from now on: see ``UploadTask/pause()``.
    public func pause() { core.setPaused(group: name, true) }

    /// Resumes its uploads, and lets those that come start as ever, even if all others are paused: the last word counts.
    public func resume() { core.setPaused(group: name, false) }

    /// Whether uploads that are started in it start paused.
    public var isPaused: Bool { core.isPaused(group: name) }

    /// Cancels its uploads, with all their handles. What is started later is not concerned.
    ///
    /// - Complexity: O(n log n) in the uploads of the session.
    public func cancel() { core.cancel(group: name) }

    /// How many of its transfers may run at once, 1 or more, within the slots of the session; `nil` for as many as those.
    /// What runs already is not stopped. Others don't wait for a group that is full.
    ///
    /// - Complexity: O(n log n) in the uploads of the session when a limit is set or lifted.
    public var slots: Int? {
        get { core.settings(of: name).slots }
        nonmutating set { core.setSlots(newValue, ofGroup: name) }
    }

    /// Limits all its bodies together to so many bytes per second from now on; `nil` lifts the limit. They get equal
    /// shares of it, as ``UploadSession/limit(to:)`` describes.
    public func limit(to rate: ByteCount?) { core.limit(group: name, to: rate) }

    /// The limit, as it was set last.
    public var rateLimit: ByteCount? { core.rateLimit(ofGroup: name) }
}
