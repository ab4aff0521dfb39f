public import Waybill
public import WaybillCore

/// An error of an object store operation, with what is known about the outcome for the object.
///
/// ```swift
/// do {
///     try await client.put(.file(path: "scan.pdf"), to: "scans/7.pdf")
/// } catch where error.isStored {
///     // The object is there; only the callback failed. Don't send it again.
/// } catch {
///     print(error)      // rejected: OSS responded with 403 AccessDenied: … [request 5C3D…]
/// }
/// ```
///
/// ``code`` is for programs, ``message`` for people. The description contains no key, token, signature or ID of a
/// multipart upload.
public struct StoreError: Error, Sendable {
    /// The code of a failure. New codes can be added in any release, so add a `default` to a `switch`. The codes of
    /// `UploadError` have the same names here.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let description: String
        package init(_ name: String) { description = name }
    }

    /// The code of the failure.
    public var code: Code
    /// A description of the failure and its remedy.
    public var message: String
    /// The outcome at the store; `nil` if no request was made.
    public var outcome: UploadOutcome?
    /// Whether the object is known to be stored although another step failed, usually the callback.
    public var isStored = false
    /// The status of the store's response, if there was one.
    public var status: Int?
    /// The store's error code, such as `NoSuchUpload`.
    public var storeCode: String?
    /// The store's detailed error code, `EC` for OSS: `0003-00000001`.
    public var detailCode: String?
    /// The ID of the request, for the store's support.
    public var requestID: String?
    /// The host of the request.
    public var host: String?
    /// The number, from 1, of the part of a multipart upload that failed.
    public var part: Int?
    /// The underlying error: an `UploadError`, a `BodyError`, or an error that a closure threw.
    public var cause: (any Error)?

    /// Creates an error.
    public init(_ code: Code, _ message: String, outcome: UploadOutcome? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.outcome = outcome
        self.cause = cause
    }

    /// Converts the session's error of a request without a usable response. The name of the code is preserved.
    public init(_ error: UploadError) {
        self.init(Code(error.code.description), error.message, outcome: error.outcome, cause: error)
        status = error.response?.status.code
    }
}

extension StoreError.Code {
    /// The store rejected the request; ``StoreError/storeCode`` has the reason.
    public static let rejected = Self("rejected")
    /// An argument is invalid; the message names it.
    public static let invalidArgument = Self("invalidArgument")
    /// The endpoint is not a valid host name or URL, or does not fit the bucket.
    public static let invalidEndpoint = Self("invalidEndpoint")
    /// Credentials would be sent over an unencrypted connection, or without verification of the certificate.
    public static let encryptionRequired = Self("encryptionRequired")
    /// The stored bytes differ from those sent; the message contains both checksums.
    public static let checksumMismatch = Self("checksumMismatch")
    /// The response is not from the store, such as the page of a proxy or captive portal, or it is incomplete.
    public static let unexpectedResponse = Self("unexpectedResponse")
    /// The object was stored, but the callback to your server failed: ``StoreError/isStored``.
    public static let storedButCallbackFailed = Self("storedButCallbackFailed")
    /// The store no longer knows the multipart upload.
    public static let uploadGone = Self("uploadGone")
    /// The object is too large for the store, or for the largest number of parts.
    public static let objectTooLarge = Self("objectTooLarge")
    /// The file has changed: it was truncated, extended, modified or replaced.
    public static let sourceChanged = Self("sourceChanged")
    /// The body can be read only once but would have to be sent again.
    public static let bodyNotReplayable = Self("bodyNotReplayable")
    /// Another task or process runs the same upload.
    public static let recordInUse = Self("recordInUse")
    /// The record is not safe to read: it belongs to another user, is accessible to others, is a link, or not a regular
    /// file.
    public static let recordRefused = Self("recordRefused")
    /// No file exists at the path.
    public static let fileNotFound = Self("fileNotFound")
    /// The path is a directory, device or socket.
    public static let notARegularFile = Self("notARegularFile")
    /// The file cannot be opened or read.
    public static let fileNotReadable = Self("fileNotReadable")
    /// The directory of the records can't be used; the message has the reason.
    public static let recordDirectoryUnusable = Self("recordDirectoryUnusable")
    /// The upload was cancelled by the caller, or because the session was closed.
    public static let cancelled = Self("cancelled")
}

extension StoreError {
    /// Whether the upload was cancelled.
    public var isCancelled: Bool { code == .cancelled }

    /// Returns a string of external origin, truncated and with visible control characters.
    static func shown(_ text: String, atMost most: Int = 300) -> String {
        let kept = text.unicodeScalars.prefix(most)
        return Redaction.escaped(String(String.UnicodeScalarView(kept)) + (kept.endIndex < text.endIndex ? "…" : ""))
    }
}

extension StoreError: CustomStringConvertible {
    /// One line with the code, the message, and the details that the store's support needs.
    public var description: String {
        let context = [
            part.map { "part \($0)" }, status.map { "status \($0)" }, detailCode.map { "EC \(Self.shown($0))" },
            requestID.map { "request \(Self.shown($0))" }, host.map { "host \(Self.shown($0))" },
        ].compactMap(\.self)
        return "\(code): \(message)" + (context.isEmpty ? "" : " [\(context.joined(separator: ", "))]")
    }
}
