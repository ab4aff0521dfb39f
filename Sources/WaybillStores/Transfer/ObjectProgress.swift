public import Waybill
public import WaybillCore

/// Where the upload of an object stands.
public enum ObjectPhase: String, Sendable, Hashable, CaseIterable {
    /// The file is looked at, the record read, the store told.
    case starting
    /// Bytes go out.
    case sending
    /// All bytes were acknowledged; the store puts the object together or has not answered yet. 100 % means this, never
    /// success.
    case completing
    /// The object is stored.
    case succeeded
    /// It ended in an error.
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
}

/// A snapshot of the upload of an object, over all its parts.
///
/// Bytes count once they were acknowledged by the store's TCP; those of parts that the store had from an earlier run count
/// from the beginning. The count never goes back, not even when a part is sent a second time.
public struct ObjectProgress: Sendable, Hashable {
    /// Where it stands.
    public var phase: ObjectPhase
    /// Bytes of the object that were acknowledged.
    public var acknowledged: Int64
    /// The size of the object; `nil` before it is known, or when it never is.
    public var total: Int64?
    /// Acknowledged bytes per second, all parts in flight together.
    public var bytesPerSecond: Double
    /// Whether it was paused.
    public var isPaused: Bool
    /// The retry that is waited for, where a request of the object failed; of several the next.
    public var retry: UploadRetry?

    /// Describes a snapshot.
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

    /// The acknowledged share, 0...1; `nil` while the size is unknown. An empty object is whole from the beginning.
    public var fraction: Double? {
        guard let total else { return nil }
        guard total > 0 else { return 1 }
        return min(1, Double(acknowledged) / Double(total))
    }
}

/// Counts the bytes of an object over all requests that carry some of it.
struct ByteCounter: Sendable {
    /// The size of the object.
    var total: Int64?
    /// Bytes of requests that have ended.
    private var settled: Int64 = 0
    /// The requests under way.
    private var moving: [UploadID: (bytes: Int64, rate: Double)] = [:]
    /// The largest count that was shown.
    private var highest: Int64 = 0
    private var retries: [UploadID: UploadRetry] = [:]

    /// Of the requests that wait for a retry, the retry that comes next.
    var retry: UploadRetry? { retries.values.min { $0.timeLeft < $1.timeLeft } }

    /// Acknowledged bytes; never fewer than before, never more than ``total``.
    var acknowledged: Int64 { min(highest, total ?? .max) }

    /// The rate of all requests under way together.
    var bytesPerSecond: Double { moving.values.reduce(0) { $0 + $1.rate } }

    /// Enters that a request waits for a retry, or no longer does.
    mutating func wait(_ id: UploadID, for retry: UploadRetry?) { retries[id] = retry }

    /// Adds bytes that the store has.
    mutating func settle(_ bytes: Int64) {
        settled += bytes
        raise()
    }

    /// Enters how many bytes of a request were acknowledged.
    mutating func move(_ id: UploadID, bytes: Int64, rate: Double) {
        moving[id] = (bytes, rate)
        raise()
    }

    /// Removes a request that has ended. Its bytes count if the store kept them.
    mutating func end(_ id: UploadID, keeping bytes: Int64?) {
        moving[id] = nil
        retries[id] = nil
        if let bytes { settle(bytes) }
    }

    /// Removes the bytes that the store has lost. ``acknowledged`` does not go back.
    mutating func forget() { settled = 0 }

    private mutating func raise() {
        highest = max(highest, moving.values.reduce(settled) { $0 + $1.bytes })
    }
}
