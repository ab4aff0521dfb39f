/// How many retries a session gives one host: a bucket of them, which successes fill again.
///
/// Retries help against a fault that passes. Against a server that is down they are load: a thousand uploads with three
/// retries each are four thousand requests to somebody who can't answer one. With a budget, a host that answers nothing
/// gets ``capacity`` retries and no more, whoever asks for them; one that fails now and then gets a retry for every
/// ``successesPerRetry`` successes on top.
///
/// An upload that finds the bucket empty ends with the error of its last attempt, whose
/// ``UploadAttempt/sequel`` says so.
public struct RetryBudget: Sendable, Hashable {
    /// The most retries that are saved up, and how many there are at first; 0 for none at all.
    public var capacity: Int
    /// How many successes give back one retry, 1 or more.
    public var successesPerRetry: Int

    /// A bucket of 10 retries, to which each success gives back a tenth of one.
    public init(capacity: Int = 10, successesPerRetry: Int = 10) {
        self.capacity = capacity
        self.successesPerRetry = successesPerRetry
    }

    /// 10 retries, and one more for every 10 successes.
    public static let standard = RetryBudget()
}

/// The buckets of all hosts of a session. Pure; only hosts whose bucket isn't full are remembered.
///
/// It counts in shares of a retry, one for each success, so that ten tenths are exactly one.
package struct RetryBuckets: Sendable {
    private let capacity: Int
    private let cost: Int
    private let isUnlimited: Bool
    private var missing: [String: Int] = [:]

    /// Full buckets; `nil` for buckets without a bottom.
    package init(_ budget: RetryBudget?) {
        cost = max(1, budget?.successesPerRetry ?? 1)
        let retries = max(0, budget?.capacity ?? 0)
        capacity = retries.multipliedReportingOverflow(by: cost).overflow ? .max : retries * cost
        isUnlimited = budget == nil
    }

    /// Takes a retry out of a host's bucket, if there is a whole one in it.
    package mutating func spend(_ host: String) -> Bool {
        guard !isUnlimited else { return true }
        let used = missing[host, default: 0]
        guard capacity - used >= cost else { return false }
        missing[host] = used + cost
        return true
    }

    /// Puts back what a success earns.
    package mutating func earn(_ host: String) {
        guard let used = missing[host] else { return }
        missing[host] = used > 1 ? used - 1 : nil
    }

    /// Hosts whose bucket is not full.
    package var remembered: Int { missing.count }
}
