import FoundationEssentials
import WaybillCore

/// An upload that can be persisted, so that an outbox can deliver it after the program has ended.
///
/// ``DurableForm``, ``DurableFileUpload`` and ``DurableTicketedUpload`` conform to it; write a custom type for another
/// protocol. A value contains everything that is needed to send the same bytes again in another process. It contains no
/// closures, streams or credentials, only the *names* of credentials (``NamedCredentials``).
///
/// ```swift
/// struct Telegram: DurableUpload {
///     static let kind = "telegram"
///     var text: String
///     var lane: DurableLane { DurableLane(host: "desk.example:443") }
///
///     func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse {
///         try await delivery.session.upload(
///             .data(Array(text.utf8)), to: "https://desk.example/telegrams", method: .post, options: delivery.options)
///     }
/// }
/// ```
public protocol DurableUpload: Codable, Sendable {
    /// The name under which values are persisted, unique in a program. Existing queues contain it, so it must never
    /// change.
    static var kind: String { get }

    /// The server and account of the upload. Uploads of one lane wait together if its server asks for a pause or its
    /// credential has expired.
    var lane: DurableLane { get }

    /// The files that are read at delivery. The outbox records their state, or replaces them with copies that it owns.
    var files: [DurableFile] { get set }

    /// Sends the upload once, with ``Delivery/options``: the outbox decides about the number of attempts. The bytes
    /// must be the same each time.
    ///
    /// - Throws: ``UploadError``, whose outcome decides whether the upload may be sent again.
    func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse

    /// Determines the result of an attempt whose end is unknown: the process was killed, or no response arrived.
    func verify(_ delivery: Delivery) async throws(UploadError) -> DeliveryVerdict
}

extension DurableUpload {
    /// No files.
    public var files: [DurableFile] {
        get { [] }
        set { precondition(newValue.isEmpty, "A durable upload with files must store the files that it is given.") }
    }

    /// Returns ``DeliveryVerdict/undetermined``.
    public func verify(_ delivery: Delivery) async throws(UploadError) -> DeliveryVerdict { .undetermined }
}

/// The result of an attempt whose end was not observed.
public enum DeliveryVerdict: Sendable {
    /// The upload was delivered. Has the response of the server, if it is still available.
    case delivered(UploadResponse?)
    /// The upload was not delivered: it is sent again.
    case absent
    /// The server may have the upload, and sending it again creates no duplicate. It is sent again, and its outcome
    /// stays unknown until a response arrives.
    case repeatable
    /// The upload was delivered partially: the rest is sent, starting from this state.
    case resume([UInt8])
    /// The result can't be determined. The policy that was chosen when the upload was enqueued applies.
    case undetermined
}

/// The context in which a ``DurableUpload`` is delivered or verified.
public struct Delivery: Sendable {
    /// The session to send with. Its options are those of the worker process.
    public var session: UploadSession
    /// The credentials by name.
    public var credentials: any NamedCredentials
    /// A UUID without quotes, which is the same in all attempts and unique to the upload.
    public var idempotencyKey: String
    /// The number of the attempt, from 1.
    public var attempt: Int
    /// The time since the first attempt began; zero in the first one.
    public var sinceFirstAttempt: Duration
    /// The state that ``saveResume`` stored last, or that a verdict ``DeliveryVerdict/resume(_:)`` contained.
    public var resume: [UInt8]?
    /// The closure to call with snapshots.
    public var onProgress: @Sendable (UploadProgress) -> Void
    /// Stores the state from which to resume after a crash. Returns when it is on disk.
    ///
    /// Attempts that made progress are not counted, so that a large file may take any number of them. An empty state
    /// (`[]`) means that the data on the server can't be used; the attempt then counts.
    public var saveResume: @Sendable ([UInt8]) async -> Void
    /// Stores a state, and returns whether it is on disk; `nil` for ``saveResume``. An attempt without progress counts.
    package var storeResume: (@Sendable (_ state: [UInt8], _ isProgress: Bool) async -> Bool)?
    /// Whether a duplicate is accepted: the caller retried the upload regardless of its outcome, or chose to retry
    /// unknown outcomes.
    package var acceptsDuplicates = false

    /// Creates a delivery.
    public init(
        session: UploadSession, credentials: any NamedCredentials = CredentialTable { _ in nil },
        idempotencyKey: String,
        attempt: Int = 1, sinceFirstAttempt: Duration = .zero, resume: [UInt8]? = nil,
        onProgress: @escaping @Sendable (UploadProgress) -> Void = { _ in },
        saveResume: @escaping @Sendable ([UInt8]) async -> Void = { _ in }
    ) {
        self.session = session
        self.credentials = credentials
        self.idempotencyKey = idempotencyKey
        self.attempt = attempt
        self.sinceFirstAttempt = sinceFirstAttempt
        self.resume = resume
        self.onProgress = onProgress
        self.saveResume = saveResume
    }

    /// Stores a state, and returns whether it is on disk.
    package func store(_ state: [UInt8], isProgress: Bool) async -> Bool {
        if let storeResume { return await storeResume(state, isProgress) }
        await saveResume(state)
        return true
    }

    /// The session's options for one attempt: without retries, which the outbox counts, and without the options that
    /// identify duplicates in a session.
    public var options: UploadOptions {
        var options = session.options
        options.retry = .none
        options.idempotency = .ignored
        options.deduplicationKey = nil
        return options
    }

    /// Returns a new key: a UUID of the time and 74 random bits (version 7, RFC 9562 section 5.7).
    ///
    /// Keys that are created in succession are adjacent in an index, such as that of the queue or of the server. A key
    /// discloses the time at which its upload was enqueued, to the millisecond.
    public static func newIdempotencyKey() -> String {
        let milliseconds = Int64(Date().timeIntervalSince1970 * 1_000)
        return IdempotencyKey(
            milliseconds: milliseconds, random: (.random(in: .min ... .max), .random(in: .min ... .max))
        ).text
    }
}

/// A server and an account on it, which are limited, paused and blocked together.
public struct DurableLane: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The name of the lane. Equal lanes have equal names.
    public let description: String

    /// Creates a lane from a host and port, and the name of a credential if one is used.
    public init(host: String, account: String? = nil) {
        description = account.map { "\(host) as \($0)" } ?? host
    }

    /// Creates the lane of a URL.
    ///
    /// - Throws: ``UploadError/Code/invalidURL``.
    public init(url: String, account: String? = nil) throws(UploadError) {
        self.init(host: try RequestTarget(url).hostAndPort, account: account)
    }

    /// Creates a lane from its name.
    public init(name: String) {
        description = name
    }
}
