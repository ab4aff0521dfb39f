/// Why an outbox could not do what was asked. What goes wrong with a delivery is no such error, but the result of its item.
///
/// ``code`` is for programs, ``message`` for people: it says what is wrong and what to do.
public struct OutboxError: Error, Sendable, CustomStringConvertible {
    /// A kind of failure. Open: new ones may come with any release, so give a `switch` a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name, as it is printed.
        public let description: String
        package init(_ name: String) { description = name }

        /// The folder can't be used: it can't be made, or others may read it.
        public static let folderUnusable = Code("folderUnusable")
        /// The folder lies on a network or user-space file system, where neither locks nor syncs can be relied on.
        public static let fileSystemRefused = Code("fileSystemRefused")
        /// The queue is damaged, or of a newer release.
        public static let queueUnusable = Code("queueUnusable")
        /// SQLite would not promise that what was committed survives a power cut.
        public static let notDurable = Code("notDurable")
        /// There is no room on the disk.
        public static let diskFull = Code("diskFull")
        /// The disk failed.
        public static let storageFailed = Code("storageFailed")
        /// Another process delivers from this outbox.
        public static let ownedByAnother = Code("ownedByAnother")
        /// The process that has the outbox did not answer.
        public static let ownerUnreachable = Code("ownerUnreachable")
        /// An unfinished item has this key already.
        public static let duplicate = Code("duplicate")
        /// The upload can't be handed over: its cause, an `UploadError`, says why.
        public static let uploadRefused = Code("uploadRefused")
        /// The upload's kind was not registered with this outbox.
        public static let unknownKind = Code("unknownKind")
        /// There is no such item.
        public static let notFound = Code("notFound")
        /// The outbox was closed.
        public static let closed = Code("closed")
        /// The task was cancelled before the answer came.
        public static let cancelled = Code("cancelled")
    }

    /// What kind of failure it is.
    public var code: Code
    /// What is wrong, and the remedy.
    public var message: String
    /// The error underneath.
    public var cause: (any Error)?

    /// Describes a failure.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// One line: code and message.
    public var description: String { "\(code): \(message)" }
}
