public import Waybill
public import WaybillCore

/// Why something did not work with an object store, and what may be believed about the object.
///
/// ```swift
/// do {
///     try await client.put(.file(path: "scan.pdf"), to: "scans/7.pdf")
/// } catch where error.isStored {
///     // The object is there; only the callback failed. Don't send it again.
/// } catch {
///     print(error)      // rejected: the store answered 403 AccessDenied … [request 5C3D…]
/// }
/// ```
///
/// ``code`` is for programs, ``message`` for people. Nothing that is printed holds a key, a token, a signature or the id of a
/// multipart upload.
public struct StoreError: Error, Sendable {
    /// A kind of failure. Open: new ones may come with any release, so give a `switch` a `default`. The codes of
    /// `UploadError` keep their names here.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name, as it is printed.
        public let description: String
        package init(_ name: String) { description = name }
    }

    /// What kind of failure it is.
    public var code: Code
    /// What went wrong, and the remedy.
    public var message: String
    /// What may be believed about the store's side; `nil` where nothing was asked of the store.
    public var outcome: UploadOutcome?
    /// Whether the object is known to be stored though something else failed: a callback, mostly.
    public var isStored = false
    /// The status of the store's answer, when there was one.
    public var status: Int?
    /// The store's own name for the failure, such as `NoSuchUpload`.
    public var storeCode: String?
    /// The store's finer code, `EC` with OSS: `0003-00000001`.
    public var detailCode: String?
    /// The id under which the store's support finds the request.
    public var requestID: String?
    /// The host that was asked.
    public var host: String?
    /// The part of a multipart upload that is to blame, from 1.
    public var part: Int?
    /// The error underneath: an `UploadError`, a `BodyError`, or whatever a closure of yours threw.
    public var cause: (any Error)?

    /// Describes a failure.
    public init(_ code: Code, _ message: String, outcome: UploadOutcome? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.outcome = outcome
        self.cause = cause
    }

    /// What a session says of a request that got no usable answer. The code keeps its name.
    public init(_ error: UploadError) {
        self.init(Code(error.code.description), error.message, outcome: error.outcome, cause: error)
        status = error.response?.status.code
    }
}

extension StoreError.Code {
    /// The store answered no; ``StoreError/storeCode`` says why.
    public static let rejected = Self("rejected")
    /// An argument can't be sent as it is; the message names it.
    public static let invalidArgument = Self("invalidArgument")
    /// The endpoint is no host name or URL, or does not go with the bucket.
    public static let invalidEndpoint = Self("invalidEndpoint")
    /// Credentials would have gone over a connection that is not encrypted.
    public static let encryptionRequired = Self("encryptionRequired")
    /// What the store has differs from what was sent: the two checksums are in the message.
    public static let checksumMismatch = Self("checksumMismatch")
    /// The answer is not one that this store gives: a proxy's page, a captive portal, something that is cut short.
    public static let unexpectedAnswer = Self("unexpectedAnswer")
    /// The object was stored, and the callback to your server failed: ``StoreError/isStored``.
    public static let storedButCallbackFailed = Self("storedButCallbackFailed")
    /// The store no longer knows the multipart upload.
    public static let uploadGone = Self("uploadGone")
    /// The object is too large for the store, or for the largest number of parts.
    public static let objectTooLarge = Self("objectTooLarge")
    /// The file is not what it was: it shrank, grew, was written to or replaced.
    public static let sourceChanged = Self("sourceChanged")
    /// The body can be read once and would have had to be sent again.
    public static let bodyNotReplayable = Self("bodyNotReplayable")
    /// Another task or process is at work on the same upload.
    public static let recordInUse = Self("recordInUse")
    /// A record lies there that is not ours to read: of another owner, open to others, a link, or no file.
    public static let recordRefused = Self("recordRefused")
    /// No file exists at the path.
    public static let fileNotFound = Self("fileNotFound")
    /// The path is a directory, device or socket.
    public static let notARegularFile = Self("notARegularFile")
    /// The file cannot be opened or read.
    public static let fileNotReadable = Self("fileNotReadable")
    /// The folder of records can't be used; the message says why.
    public static let recordFolderUnusable = Self("recordFolderUnusable")
    /// Cancelled by the caller, or by the closing of the session.
    public static let cancelled = Self("cancelled")
}

extension StoreError {
    /// Whether the caller ended it.
    public var isCancelled: Bool { code == .cancelled }

    /// Text of foreign origin, cut and with control characters made visible.
    static func shown(_ text: String, atMost most: Int = 300) -> String {
        let kept = text.unicodeScalars.prefix(most)
        return Redaction.escaped(String(String.UnicodeScalarView(kept)) + (kept.endIndex < text.endIndex ? "…" : ""))
    }
}

extension StoreError: CustomStringConvertible {
    /// One line: code, message and what the store's support asks for.
    public var description: String {
        let context = [
            part.map { "part \($0)" }, status.map { "status \($0)" }, detailCode.map { "EC \(Self.shown($0))" },
            requestID.map { "request \(Self.shown($0))" }, host.map { "host \(Self.shown($0))" },
        ].compactMap(\.self)
        return "\(code): \(message)" + (context.isEmpty ? "" : " [\(context.joined(separator: ", "))]")
    }
}
