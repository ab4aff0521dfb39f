public import Waybill
import WaybillCore

/// The phase of an object's upload.
public enum ObjectPhase: String, Sendable, Hashable, CaseIterable {
    /// The file is examined, the record is read, and the upload is initiated.
    case starting
    /// Bytes are being sent.
    case sending
    /// All bytes are acknowledged, and the store assembles the object or has not responded yet. A progress of 100 % has
    /// this meaning; it does not mean success.
    case completing
    /// The object is stored.
    case succeeded
    /// The upload ended with an error.
    case failed
    /// The upload was cancelled by the caller, or because the session was closed.
    case cancelled

    /// Whether the phase is final.
    public var isTerminal: Bool {
        switch self {
        case .succeeded, .failed, .cancelled: true
        default: false
        }
    }
}

/// A progress snapshot of an object's upload, over all of its parts.
///
/// A byte counts as acknowledged when the store's TCP has acknowledged it; the bytes of parts that the store has from
/// an earlier run count from the start. The count never decreases, not even when a part is sent again.
public struct ObjectProgress: Sendable, Hashable {
    /// The phase of the upload.
    public var phase: ObjectPhase
    /// The number of acknowledged bytes of the object.
    public var acknowledged: Int64
    /// The size of the object in bytes; `nil` if it is not known yet, or never is.
    public var total: Int64?
    /// The acknowledged bytes per second, as the sum over all parts in flight.
    public var bytesPerSecond: Double
    /// Whether the upload is paused.
    public var isPaused: Bool
    /// The next pending retry of a request that failed.
    public var retry: UploadRetry?

    /// Creates a snapshot.
    public init(
        phase: ObjectPhase, acknowledged: Int64, total: Int64? = nil, bytesPerSecond: Double = 0,
        isPaused: Bool = false, retry: UploadRetry? = nil
    ) {
        self.phase = phase
        self.acknowledged = acknowledged
        self.total = total
        self.bytesPerSecond = bytesPerSecond
        self.isPaused = isPaused
        self.retry = retry
    }

    /// The acknowledged fraction, 0...1; `nil` if the size is unknown. It is 1 for an empty object.
    public var fraction: Double? {
        guard let total else { return nil }
        guard total > 0 else { return 1 }
        return min(1, Double(acknowledged) / Double(total))
    }
}

/// Counts the bytes of an object over all requests that carry some of it.
struct ByteCounter: Sendable {
    /// The size of the object in bytes.
    var total: Int64?
    /// The bytes of requests that have ended.
    private var storedBytes: Int64 = 0
    /// The requests in flight.
    private var inFlight: [UploadID: (bytes: Int64, rate: Double)] = [:]
    /// The largest count that was reported.
    private var highest: Int64 = 0
    private var retries: [UploadID: UploadRetry] = [:]

    /// The earliest pending retry.
    var retry: UploadRetry? { retries.values.min { $0.timeLeft < $1.timeLeft } }

    /// The acknowledged bytes; never less than before, never more than ``total``.
    var acknowledged: Int64 { min(highest, total ?? .max) }

    /// The sum of the rates of all requests in flight.
    var bytesPerSecond: Double { inFlight.values.reduce(0) { $0 + $1.rate } }

    /// Sets or clears the pending retry of a request.
    mutating func wait(_ id: UploadID, for retry: UploadRetry?) { retries[id] = retry }

    /// Adds bytes that are stored.
    mutating func addStored(_ bytes: Int64) {
        storedBytes += bytes
        updateHighest()
    }

    /// Sets the number of acknowledged bytes of a request.
    mutating func move(_ id: UploadID, bytes: Int64, rate: Double) {
        inFlight[id] = (bytes, rate)
        updateHighest()
    }

    /// Removes a request that has ended. Its bytes are counted if the store kept them.
    mutating func end(_ id: UploadID, keeping bytes: Int64?) {
        inFlight[id] = nil
        retries[id] = nil
        if let bytes { addStored(bytes) }
    }

    /// Removes bytes that the store has lost. ``acknowledged`` does not decrease.
    mutating func forget() { storedBytes = 0 }

    private mutating func updateHighest() {
        highest = max(highest, inFlight.values.reduce(storedBytes) { $0 + $1.bytes })
    }
}
