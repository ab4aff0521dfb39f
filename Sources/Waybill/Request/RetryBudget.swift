/// The number of retries that a session allows for one host: a token bucket that is refilled by successes.
///
/// Retries help against transient faults. Against a server that is down, they only add load: 1,000 uploads with three
/// retries each are 4,000 requests to a server that can't answer one. With a budget, a host that does not respond gets
/// at most ``capacity`` retries from all uploads. A host that fails occasionally gets another retry for every
/// ``successesPerRetry`` successes.
///
/// If the bucket is empty, an upload ends with the error of its last attempt, with the reason in
/// ``UploadAttempt/disposition``.
public struct RetryBudget: Sendable, Hashable {
    /// The capacity of the bucket, which is also the initial number of retries; 0 for no retries.
    public var capacity: Int
    /// The number of successes that add one retry, 1 or more.
    public var successesPerRetry: Int

    /// Creates a budget of 10 retries, to which each success adds a tenth of a retry by default.
    public init(capacity: Int = 10, successesPerRetry: Int = 10) {
        self.capacity = capacity
        self.successesPerRetry = successesPerRetry
    }

    /// 10 retries, and one more for every 10 successes.
    public static let standard = RetryBudget()
}

/// The buckets of all hosts of a session. Only hosts whose bucket is not full are stored.
///
/// The unit is the fraction of a retry that one success adds, so that ten tenths are exactly one.
package struct RetryBuckets: Sendable {
    private let capacity: Int
    private let cost: Int
    private let isUnlimited: Bool
    private var missing: [String: Int] = [:]

    /// Creates full buckets; `nil` for unlimited ones.
    package init(_ budget: RetryBudget?) {
        cost = max(1, budget?.successesPerRetry ?? 1)
        let retries = max(0, budget?.capacity ?? 0)
        capacity = retries.multipliedReportingOverflow(by: cost).overflow ? .max : retries * cost
        isUnlimited = budget == nil
    }

    /// Removes a retry from a host's bucket, and returns whether there was one.
    package mutating func spend(_ host: String) -> Bool {
        guard !isUnlimited else { return true }
        let used = missing[host, default: 0]
        guard capacity - used >= cost else { return false }
        missing[host] = used + cost
        return true
    }

    /// Adds the share of a retry for one success.
    package mutating func earn(_ host: String) {
        guard let used = missing[host] else { return }
        missing[host] = used > 1 ? used - 1 : nil
    }

    /// The number of hosts whose bucket is not full.
    package var remembered: Int { missing.count }
}
