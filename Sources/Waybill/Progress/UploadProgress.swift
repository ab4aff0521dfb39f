public import WaybillCore

/// Where an upload stands in its life. Within an attempt the phases only go forward, in this order.
public enum UploadPhase: String, Sendable, Hashable, CaseIterable {
    /// In line; nothing is opened yet.
    case waiting
    /// Files are opened and images are made.
    case preparing
    /// Ready, and waiting for a slot.
    case queued
    /// Name look-up, TCP, TLS.
    case connecting
    /// The body goes out.
    case sending
    /// The peer's TCP has the whole body; the answer is not complete. 100 % means this, never success.
    case awaitingResponse
    /// The attempt failed and another one follows after a wait.
    case retrying
    /// The server said yes.
    case succeeded
    /// The upload ended in an error.
    case failed
    /// The caller, or the closing of the session, ended it.
    case cancelled

    /// Whether nothing follows.
    public var isTerminal: Bool {
        switch self {
        case .succeeded, .failed, .cancelled: true
        default: false
        }
    }

    /// Whether an attempt is under way at the transport.
    package var isOnWire: Bool {
        switch self {
        case .connecting, .sending, .awaitingResponse: true
        default: false
        }
    }
}

/// A retry that is waited for.
public struct UploadRetry: Sendable, Hashable {
    /// How the attempt before it ended: `503 Service Unavailable`, or what broke. It may quote the server.
    public var reason: String
    /// The whole wait before the retry.
    public var delay: Duration
    /// What was left of the wait when the snapshot was made.
    public var timeLeft: Duration
    /// The number of the retry, from 1.
    public var number: Int
    /// The most retries: ``RetryPolicy/maxRetries``.
    public var limit: Int

    /// Describes a retry.
    public init(reason: String, delay: Duration, timeLeft: Duration, number: Int, limit: Int) {
        self.reason = reason
        self.delay = delay
        self.timeLeft = timeLeft
        self.number = number
        self.limit = limit
    }
}

/// A snapshot of an upload.
///
/// Counts mean *acknowledged by the peer's TCP*: they may lead the peer's program by its receive buffer. They never go
/// back within an attempt and start again at zero with the next.
public struct UploadProgress: Sendable, Hashable {
    /// Where it stands.
    public var phase: UploadPhase
    /// The attempt, from 1.
    public var attempt: Int
    /// Body bytes handed to the kernel.
    public var sent: Int64
    /// Body bytes that the peer acknowledged.
    public var acknowledged: Int64
    /// The length of the body; `nil` before it is known, or when it never is.
    public var total: Int64?
    /// What ``acknowledged`` is worth.
    public var accuracy: ProgressAccuracy
    /// Acknowledged bytes per second, smoothed over the last seconds; 0 when nothing moves. Time before the attempt, such as
    /// the preparation of images, does not count.
    public var bytesPerSecond: Double
    /// The named parts of a form, in order; empty for other bodies.
    public var parts: [PartProgress]
    /// Whether it was paused: see ``UploadTask/pause()``. The phase stays what it was.
    public var isPaused: Bool
    /// The retry that is waited for, in the phase ``UploadPhase/retrying``; `nil` while a fresh credential is waited for.
    public var retry: UploadRetry?

    /// Describes a snapshot.
    public init(
        phase: UploadPhase, attempt: Int, sent: Int64 = 0, acknowledged: Int64 = 0, total: Int64? = nil,
        accuracy: ProgressAccuracy = .exact, bytesPerSecond: Double = 0, parts: [PartProgress] = [],
        isPaused: Bool = false, retry: UploadRetry? = nil
    ) {
        self.phase = phase
        self.attempt = attempt
        self.sent = sent
        self.acknowledged = acknowledged
        self.total = total
        self.accuracy = accuracy
        self.bytesPerSecond = bytesPerSecond
        self.parts = parts
        self.isPaused = isPaused
        self.retry = retry
    }

    /// The acknowledged share of the body, 0...1; `nil` while the length is unknown. An empty body is whole from the
    /// moment it is on its way.
    public var fraction: Double? {
        guard let total else { return nil }
        guard total > 0 else { return 1 }
        return min(1, Double(acknowledged) / Double(total))
    }
}

/// How far one part of a form has come.
public struct PartProgress: Sendable, Hashable {
    /// The field name.
    public var name: String
    /// The file name, for parts that have one.
    public var fileName: String?
    /// Bytes of the part's content that the peer acknowledged.
    public var acknowledged: Int64
    /// The length of the part's content.
    public var total: Int64

    /// Describes a part's position.
    public init(name: String, fileName: String? = nil, acknowledged: Int64, total: Int64) {
        self.name = name
        self.fileName = fileName
        self.acknowledged = acknowledged
        self.total = total
    }
}
