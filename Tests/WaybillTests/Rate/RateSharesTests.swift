import TestSupport
import Testing
import WaybillCore

@testable import Waybill

@Suite struct RateSharesTests {
    private func id(_ number: Int) -> UploadID { UploadID(rawValue: UInt64(number)) }

    @Test func `a limit is shared equally, and unused shares are redistributed`() {
        var shares = RateShares()
        shares.limit(to: .bytes(900))
        for number in 0..<3 { shares.join(id(number), group: nil, limit: nil) }
        #expect(shares.shares == [id(0): 300, id(1): 300, id(2): 300])
        shares.limit(id(0), to: .bytes(100))
        #expect(shares.shares == [id(0): 100, id(1): 400, id(2): 400])
        let wasThere = shares.leave(id(1))
        #expect(wasThere)
        #expect(shares.shares == [id(0): 100, id(2): 800])
        shares.limit(to: nil)
        #expect(shares.shares == [id(0): 100])
    }

    @Test func `a group has its limit within that of the session`() {
        var shares = RateShares()
        shares.limit(to: .bytes(1_000))
        shares.limit(group: "g", to: .bytes(200))
        shares.join(id(0), group: "g", limit: nil)
        shares.join(id(1), group: "g", limit: .bytes(30))
        shares.join(id(2), group: nil, limit: nil)
        shares.join(id(3), group: "other", limit: nil)
        #expect(shares.shares == [id(0): 170, id(1): 30, id(2): 400, id(3): 400])
        shares.limit(group: "g", to: .bytes(5_000))
        #expect(shares.shares == [id(0): 323, id(1): 30, id(2): 323, id(3): 323])
    }

    @Test func `only uploads whose share changes are reported`() {
        var shares = RateShares()
        shares.join(id(0), group: nil, limit: nil)
        expect(changes(of: &shares), [:])
        shares.limit(to: .bytes(100))
        expect(changes(of: &shares), [id(0): 100])
        expect(changes(of: &shares), [:])
        shares.join(id(1), group: nil, limit: .bytes(10))
        expect(changes(of: &shares), [id(0): 90, id(1): 10])
        shares.limit(id(1), to: .bytes(10))
        expect(changes(of: &shares), [:])
        shares.limit(to: nil)
        expect(changes(of: &shares), [id(0): nil])
        let isLeaving = [shares.leave(id(1)), shares.leave(id(1))]
        #expect(isLeaving == [true, false])
        expect(changes(of: &shares), [:])
    }

    @Test func `a resumed transfer is notified of its share once, even if it has none`() {
        var shares = RateShares()
        shares.join(id(0), group: nil, limit: nil, isResumed: true)
        expect(changes(of: &shares), [id(0): nil])
        expect(changes(of: &shares), [:])
        shares.limit(to: .bytes(100))
        shares.join(id(1), group: nil, limit: nil, isResumed: true)
        expect(changes(of: &shares), [id(0): 50, id(1): 50])
        shares.join(id(1), group: nil, limit: nil, isResumed: true)
        expect(changes(of: &shares), [id(1): 50])
        shares.limit(to: nil)
        _ = changes(of: &shares)
        shares.join(id(1), group: nil, limit: nil, isResumed: true)
        _ = shares.leave(id(1))
        expect(changes(of: &shares), [:])
    }

    @Test func `every share is at least one byte, because zero would mean no limit`() {
        var shares = RateShares()
        shares.limit(to: .bytes(-5))
        shares.limit(group: "g", to: .bytes(0))
        for number in 0..<10 { shares.join(id(number), group: number < 5 ? "g" : nil, limit: .bytes(.max)) }
        #expect(shares.shares.values.allSatisfy { $0 == 1 })
        shares.limit(to: .bytes(.max))
        #expect(shares.shares.count == 10)
        #expect(shares.shares.values.allSatisfy { $0 >= 1 })
    }

    /// Compares with the definition, max-min fairness byte by byte: each byte goes to the smallest share that may
    /// still grow.
    @Test func `random shares equal max-min fairness`() {
        var random = SeededGenerator()
        for _ in 0..<300 {
            let groups = ["a": Int64.random(in: 1...60, using: &random), "b": .random(in: 1...60, using: &random)]
            let limit = Bool.random(using: &random) ? Int64.random(in: 1...150, using: &random) : nil
            let members = (0..<Int.random(in: 1...7, using: &random)).map { _ in
                Bucket(
                    group: [nil, "a", "b", "c"].randomElement(using: &random)!,
                    limit: Bool.random(using: &random) ? Int64.random(in: 1...40, using: &random) : nil)
            }
            var shares = RateShares()
            shares.limit(to: limit.map { .bytes($0) })
            for (group, limit) in groups { shares.limit(group: group, to: .bytes(limit)) }
            for (number, bucket) in members.enumerated() {
                shares.join(id(number), group: bucket.group, limit: bucket.limit.map { .bytes($0) })
            }
            let filled = Self.fill(members, groups, limit)
            for (number, amount) in filled.enumerated() {
                let share = shares.shares[id(number)]
                // Whole bytes: the remainder, fewer bytes than members, may go to any member.
                let isNear = amount.map { abs($0 - (share ?? -100)) <= 7 || (share == 1 && $0 == 0) } ?? (share == nil)
                #expect(isNear, "\(members), \(groups), \(limit as Any): \(share as Any) is not \(amount as Any)")
            }
            let sum = shares.shares.values.reduce(0, +)
            if let limit, shares.shares.values.contains(where: { $0 > 1 }) { #expect(sum <= limit) }
        }
    }

    private struct Bucket {
        var group: String?
        var limit: Int64?
    }

    private static func fill(_ buckets: [Bucket], _ groups: [String: Int64], _ limit: Int64?) -> [Int64?] {
        let isBound = buckets.map { limit != nil || $0.limit != nil || $0.group.flatMap { groups[$0] } != nil }
        var amounts = buckets.map { _ in Int64(0) }
        while true {
            let candidates = buckets.indices.filter { index in
                let inGroup = buckets.indices.filter { buckets[$0].group == buckets[index].group }.map { amounts[$0] }
                return isBound[index] && amounts[index] < buckets[index].limit ?? .max
                    && inGroup.reduce(0, +) < buckets[index].group.flatMap { groups[$0] } ?? .max
            }
            guard amounts.reduce(0, +) < limit ?? .max, let least = candidates.min(by: { amounts[$0] < amounts[$1] })
            else { break }
            amounts[least] += 1
        }
        return zip(amounts, isBound).map { $1 ? $0 : nil }
    }

    private func expect(
        _ reported: [UploadID: Int64?], _ expected: [UploadID: Int64?],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(reported == expected, sourceLocation: sourceLocation)
    }

    private func changes(of shares: inout RateShares) -> [UploadID: Int64?] {
        shares.changes().reduce(into: [:]) { $0[$1.id] = .some($1.rate?.bytes) }
    }
}
