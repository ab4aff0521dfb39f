import Testing

@testable import Waybill

@Suite struct RetryBudgetTests {
    @Test func `a failing host gets the retries of its budget`() {
        var buckets = RetryBuckets(RetryBudget(capacity: 3, successesPerRetry: 10))
        #expect(spend(5, of: &buckets) == 3)
        #expect(spend(1, of: &buckets, host: "b") == 1)
    }

    @Test func `ten successes earn exactly one retry`() {
        var buckets = RetryBuckets(RetryBudget(capacity: 1, successesPerRetry: 10))
        for _ in 0..<100 {
            #expect(spend(1, of: &buckets) == 1)
            for _ in 0..<9 { buckets.earn("a") }
            #expect(spend(1, of: &buckets) == 0)
            buckets.earn("a")
        }
    }

    @Test func `a full bucket earns nothing and is removed`() {
        var buckets = RetryBuckets(.standard)
        for _ in 0..<1_000 { buckets.earn("a") }
        #expect(buckets.remembered == 0)
        #expect(spend(11, of: &buckets) == 10)
        #expect(buckets.remembered == 1)
        for _ in 0..<100 { buckets.earn("a") }
        #expect(buckets.remembered == 0)
    }

    @Test func `a nil budget is unlimited, and a capacity of 0 allows no retry`() {
        var unlimited = RetryBuckets(nil)
        #expect(spend(1_000, of: &unlimited) == 1_000)
        var none = RetryBuckets(RetryBudget(capacity: 0))
        #expect(spend(1, of: &none) == 0)
        var odd = RetryBuckets(RetryBudget(capacity: -5, successesPerRetry: 0))
        #expect(spend(1, of: &odd) == 0)
        var vast = RetryBuckets(RetryBudget(capacity: .max, successesPerRetry: .max))
        #expect(spend(1, of: &vast) == 1)
    }

    private func spend(_ count: Int, of buckets: inout RetryBuckets, host: String = "a") -> Int {
        (0..<count).count { _ in buckets.spend(host) }
    }
}
