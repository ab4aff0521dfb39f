/// An error of an outbox operation. Delivery failures are not reported as errors but in the result of the item.
///
/// Use ``code`` in programs and ``message`` for people: the message describes the failure and gives the remedy.
public struct OutboxError: Error, Sendable, CustomStringConvertible {
    /// An error code. The set is open: releases may add new codes, so include a `default` in a `switch`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code, as printed.
        public let description: String
        package init(_ name: String) { description = name }

        /// The directory cannot be used: it cannot be created, or other users can read it.
        public static let directoryUnusable = Code("directoryUnusable")
        /// The directory is on a network or user-space file system, where locks and fsync(2) are unreliable.
        public static let fileSystemRefused = Code("fileSystemRefused")
        /// The queue is damaged or was written by a newer release.
        public static let queueUnusable = Code("queueUnusable")
        /// SQLite does not guarantee that commits survive a power failure.
        public static let notDurable = Code("notDurable")
        /// There is no space on the disk.
        public static let diskFull = Code("diskFull")
        /// A disk operation failed.
        public static let storageFailed = Code("storageFailed")
        /// Another process delivers from this outbox.
        public static let ownedByAnother = Code("ownedByAnother")
        /// The process that owns the outbox did not respond.
        public static let ownerUnreachable = Code("ownerUnreachable")
        /// The shared store cannot be reached. Whether it performed the request is unknown.
        public static let storeUnreachable = Code("storeUnreachable")
        /// Other machines cannot read the files of the upload; the message names the remedies.
        public static let filesNotShared = Code("filesNotShared")
        /// An unfinished item with this key exists.
        public static let duplicate = Code("duplicate")
        /// The upload cannot be enqueued; the cause, an `UploadError`, gives the reason.
        public static let uploadRefused = Code("uploadRefused")
        /// The type of the upload is not registered with this outbox.
        public static let unknownKind = Code("unknownKind")
        /// The item does not exist.
        public static let notFound = Code("notFound")
        /// The outbox was closed.
        public static let closed = Code("closed")
        /// The task was cancelled before the response arrived.
        public static let cancelled = Code("cancelled")
    }

    /// The error code.
    public var code: Code
    /// A description of the failure and the remedy.
    public var message: String
    /// The underlying error.
    public var cause: (any Error)?

    /// Creates an error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// One line with code and message.
    public var description: String { "\(code): \(message)" }
}
