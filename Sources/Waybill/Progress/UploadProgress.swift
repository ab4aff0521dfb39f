public import WaybillCore

/// The phase of an upload. Within an attempt, phases advance only in this order.
public enum UploadPhase: String, Sendable, Hashable, CaseIterable {
    /// Waiting in the queue. Nothing is opened yet.
    case waiting
    /// Opening files and preparing images.
    case preparing
    /// Prepared, and waiting for a slot.
    case queued
    /// Resolving the host name and connecting with TCP and TLS.
    case connecting
    /// Sending the body.
    case sending
    /// The peer's TCP has received the whole body, and the response is not complete. 100 % means this phase and not
    /// success.
    case awaitingResponse
    /// Waiting for another attempt after a failed one.
    case retrying
    /// The server accepted the upload.
    case succeeded
    /// The upload ended with an error.
    case failed
    /// The upload was cancelled by the caller or by closing the session.
    case cancelled

    /// Whether the phase is final.
    public var isTerminal: Bool {
        switch self {
        case .succeeded, .failed, .cancelled: true
        default: false
        }
    }

    /// Whether the transport runs an attempt.
    package var isOnWire: Bool {
        switch self {
        case .connecting, .sending, .awaitingResponse: true
        default: false
        }
    }
}

/// A retry that the upload waits for.
public struct UploadRetry: Sendable, Hashable {
    /// A description of how the previous attempt ended, for example `503 Service Unavailable`. It may quote the server.
    public var reason: String
    /// The whole delay before the retry.
    public var delay: Duration
    /// The remaining delay when the snapshot was created.
    public var timeLeft: Duration
    /// The number of the retry, from 1.
    public var number: Int
    /// The maximum number of retries: ``RetryPolicy/maxRetries``.
    public var limit: Int

    /// Creates a description of a retry.
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
/// Byte counts are bytes *acknowledged by the peer's TCP*. They may exceed what the peer's program has read by the size
/// of its receive buffer. Within an attempt they never decrease; the next attempt starts at zero, or, if the upload is
/// resumable, at the number of bytes that the server has confirmed.
public struct UploadProgress: Sendable, Hashable {
    /// The phase of the upload.
    public var phase: UploadPhase
    /// The number of the attempt, from 1.
    public var attempt: Int
    /// The number of body bytes handed to the kernel.
    public var sent: Int64
    /// The number of body bytes that the peer acknowledged.
    public var acknowledged: Int64
    /// The length of the body; `nil` while unknown, or if it is never known.
    public var total: Int64?
    /// The accuracy of ``acknowledged``.
    public var accuracy: ProgressAccuracy
    /// The number of body bytes that the server's program has stored; `nil` unless the upload is resumable and the server
    /// has reported it. It can decrease: some servers discard the bytes of an interrupted request.
    public var stored: StoredProgress?
    /// Acknowledged bytes per second, smoothed over the last seconds; 0 when nothing is transferred. Time before the
    /// attempt, such as the preparation of images, does not count.
    public var bytesPerSecond: Double
    /// The named parts of a form, in order; empty for other bodies.
    public var parts: [PartProgress]
    /// Whether the upload is paused. The phase does not change: see ``UploadTask/pause()``.
    public var isPaused: Bool
    /// The pending retry in the phase ``UploadPhase/retrying``; `nil` while waiting for a new credential.
    public var retry: UploadRetry?

    /// Creates a snapshot.
    public init(
        phase: UploadPhase, attempt: Int, sent: Int64 = 0, acknowledged: Int64 = 0, total: Int64? = nil,
        accuracy: ProgressAccuracy = .exact, bytesPerSecond: Double = 0, parts: [PartProgress] = [],
        isPaused: Bool = false, retry: UploadRetry? = nil, stored: StoredProgress? = nil
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
        self.stored = stored
    }

    /// The acknowledged fraction of the body, 0...1; `nil` while the length is unknown. Always 1 for an empty body.
    public var fraction: Double? {
        guard let total else { return nil }
        guard total > 0 else { return 1 }
        return min(1, Double(acknowledged) / Double(total))
    }
}

/// The progress of one part of a form.
public struct PartProgress: Sendable, Hashable {
    /// The field name.
    public var name: String
    /// The file name, for parts that have one.
    public var fileName: String?
    /// The number of bytes of the part's content that the peer acknowledged.
    public var acknowledged: Int64
    /// The length of the part's content.
    public var total: Int64

    /// Creates the progress of a part.
    public init(name: String, fileName: String? = nil, acknowledged: Int64, total: Int64) {
        self.name = name
        self.fileName = fileName
        self.acknowledged = acknowledged
        self.total = total
    }
}
