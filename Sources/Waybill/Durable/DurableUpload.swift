import FoundationEssentials
import WaybillCore

/// An upload that can be written down, and so outlive the program: what an outbox keeps and delivers.
///
/// ``DurableForm`` and ``DurableFileUpload`` are two; whoever speaks another protocol writes a third. A value holds
/// everything that is needed to send the same bytes again, in a program that was started anew: no closure, no stream, and no
/// credential, only the *names* of credentials (``NamedCredentials``).
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
    /// The name under which values are written down, unique in a program. Old queues hold it, so it never changes.
    static var kind: String { get }

    /// Who is spoken to, as whom. Uploads of one lane wait together when its server asks for a pause or its credential
    /// has expired.
    var lane: DurableLane { get }

    /// The files that are read when it is delivered. The outbox notes what they are, or replaces them by copies of its own.
    var files: [DurableFile] { get set }

    /// Sends it, once, with ``Delivery/options``: the number of attempts is the outbox's to decide. Whatever is sent has to be the same bytes each time.
    ///
    /// - Throws: ``UploadError``, whose outcome decides whether it may be sent again.
    func deliver(_ delivery: Delivery) async throws(UploadError) -> UploadResponse

    /// Finds out what became of an attempt whose end nobody saw: the program was killed, or no answer came.
    func verify(_ delivery: Delivery) async throws(UploadError) -> DeliveryVerdict
}

extension DurableUpload {
    /// No files.
    public var files: [DurableFile] {
        get { [] }
        set { precondition(newValue.isEmpty, "an upload that is handed files has to keep them") }
    }

    /// ``DeliveryVerdict/cannotTell``.
    public func verify(_ delivery: Delivery) async throws(UploadError) -> DeliveryVerdict { .cannotTell }
}

/// What became of an attempt whose end nobody saw.
public enum DeliveryVerdict: Sendable {
    /// It is there. With the server's answer, where it still gives one.
    case delivered(UploadResponse?)
    /// It isn't there: it is sent again.
    case absent
    /// The server may have it, and sending it again makes no second one: it is sent again, and stays in doubt until a response
    /// arrives.
    case repeatable
    /// Some of it is there; the rest is sent, from this state on.
    case resume([UInt8])
    /// Nobody can say. What happens then was chosen when the upload was handed over.
    case cannotTell
}

/// What a ``DurableUpload`` is given to deliver itself, or to find out what became of it.
public struct Delivery: Sendable {
    /// What to send with. Its options are those of the program that delivers.
    public var session: UploadSession
    /// Gives credentials for their names.
    public var credentials: any NamedCredentials
    /// The same in all attempts, and no other upload's: a UUID, without quotes.
    public var idempotencyKey: String
    /// The attempt, from 1.
    public var attempt: Int
    /// The time since the first attempt began; zero in the first one.
    public var sinceFirstAttempt: Duration
    /// What ``saveResume`` kept last, or a verdict's ``DeliveryVerdict/resume(_:)`` said.
    public var resume: [UInt8]?
    /// To be called with snapshots.
    public var onProgress: @Sendable (UploadProgress) -> Void
    /// Keeps where to go on after a crash. Returns when it is on the disk.
    ///
    /// Attempts that came further are not counted, so that a large file may take as many as it needs. Nothing at all (`[]`) says
    /// that what the server had is of no use: then the attempt counts after all.
    public var saveResume: @Sendable ([UInt8]) async -> Void

    /// Describes a delivery.
    public init(
        session: UploadSession, credentials: any NamedCredentials = NoCredentials(), idempotencyKey: String,
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

    /// The session's options for one attempt: without its retries, which are the outbox's to count, and without what keeps two
    /// uploads of a session apart.
    public var options: UploadOptions {
        var options = session.options
        options.retry = .none
        options.idempotency = .ignored
        options.deduplicationKey = nil
        return options
    }

    /// A new key: a UUID of the time and 74 random bits (version 7, RFC 9562 section 5.7).
    ///
    /// Keys that are made one after another so stand beside each other in an index: that of the queue, and maybe the server's.
    /// Whoever reads one learns when its upload was handed over, to the millisecond.
    public static func newIdempotencyKey() -> String {
        let milliseconds = Int64(Date().timeIntervalSince1970 * 1_000)
        return IdempotencyKey(
            milliseconds: milliseconds, random: (.random(in: .min ... .max), .random(in: .min ... .max))
        ).text
    }
}

/// A server and an account with it: what is limited, paused and blocked together.
public struct DurableLane: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The name; equal lanes have equal names.
    public let description: String

    /// A lane of a host and port, and of the name of a credential where one is used.
    public init(host: String, account: String? = nil) {
        description = account.map { "\(host) as \($0)" } ?? host
    }

    /// The lane of a URL.
    ///
    /// - Throws: ``UploadError/Code/invalidURL``.
    public init(url: String, account: String? = nil) throws(UploadError) {
        self.init(host: try RequestTarget(url).hostAndPort, account: account)
    }

    /// A lane by its name.
    public init(name: String) {
        description = name
    }
}
