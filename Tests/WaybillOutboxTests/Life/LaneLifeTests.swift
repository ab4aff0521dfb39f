import FoundationEssentials
import TestSupport
import Testing

@testable import WaybillOutbox

@Suite struct LaneLifeTests {
    @Test func `an unreachable lane is suspended longer each time, and for at least 250 ms`() {
        var lane = LaneLife()
        var now: Int64 = 1_000
        var suspensions: [Int64] = []
        for _ in 0..<9 {
            lane.handle(.offline(jitter: 1), at: now)
            suspensions.append(lane.suspendedUntil - now)
            #expect(!lane.isOpen(now))
            now = lane.suspendedUntil
            #expect(lane.isOpen(now))
        }
        #expect(suspensions == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
        lane.handle(.responded, at: now)
        lane.handle(.offline(jitter: 0), at: now)
        #expect(lane.suspendedUntil - now == 250)
    }

    @Test func `the longest suspension applies, up to an hour, and a clock set back ends it`() {
        var lane = LaneLife()
        let day: Int64 = 86_400_000
        lane.handle(.suspend(60_000), at: 10 * day)
        lane.handle(.suspend(5_000), at: 10 * day)
        #expect(lane.suspendedUntil == 10 * day + 60_000)
        lane.handle(.suspend(.max / 2), at: 10 * day)
        #expect(lane.suspendedUntil == 10 * day + 3_600_000)
        #expect(!lane.isOpen(10 * day) && lane.isOpen(8 * day) && lane.isOpen(12 * day))
    }

    @Test func `a blocked lane is probed with one item at growing intervals until one succeeds`() {
        var lane = LaneLife()
        var now: Int64 = 1_000
        var suspensions: [Int64] = []
        for _ in 0..<7 {
            lane.handle(.block("status401", jitter: 1), at: now)
            suspensions.append(lane.suspendedUntil - now)
            #expect(lane.availableSlots(now, of: 4) == 0)
            now = lane.suspendedUntil
            #expect(lane.availableSlots(now, of: 4) == 1 && lane.blocked == "status401")
        }
        #expect(suspensions == [30_000, 60_000, 120_000, 240_000, 480_000, 900_000, 900_000])
        lane.handle(.responded, at: now)
        #expect(lane.availableSlots(now, of: 4) == 4 && lane == LaneLife())
    }

    @Test func `in no period do more items start than the rate says, and on average nearly as many`() {
        var random = SeededGenerator()
        for (count, period) in [(1, 1_000), (3, 1_000), (60, 60_000), (100, 1_000), (5_000, 1_000)] as [(Int, Int64)] {
            var lane = LaneLife()
            lane.handle(.setRate(LaneRate(count, per: .milliseconds(period))), at: 0)
            var starts: [Int64] = []
            var now: Int64 = 1_000_000_000
            let end = now + 20 * period
            while now < end {
                let wanted = Int.random(in: 0...2 * count, using: &random)
                let allowed = min(wanted, lane.availableStarts(now))
                lane.handle(.started(allowed), at: now)
                starts += Array(repeating: now, count: allowed)
                now += Int64.random(in: 1...max(1, period / 50), using: &random)
            }
            for (index, start) in starts.enumerated().dropFirst(count) {
                #expect(start - starts[index - count] >= period, "\(count) per \(period) ms")
            }
            #expect(starts.count >= 20 * count * 8 / 10, "\(starts.count) of \(20 * count)")
        }
    }

    @Test func `a rate survives the unblocking of its lane and a clock set back`() throws {
        var lane = LaneLife()
        let day: Int64 = 86_400_000
        lane.handle(.setRate(LaneRate(2, per: .seconds(60))), at: 10 * day)
        #expect(lane.availableStarts(10 * day) == 1)
        lane.handle(.started(1), at: 10 * day)
        lane.handle(.unblock, at: 10 * day)
        #expect(lane.availableStarts(10 * day) == 0 && lane.nextStart == 10 * day + 30_000)
        #expect(lane.availableStarts(10 * day + 29_999) == 0 && lane.availableStarts(10 * day + 30_000) == 1)
        // After a day back, the lane waits for one interval, not for a day.
        #expect(lane.availableStarts(9 * day) == 0)
        lane.handle(.started(0), at: 9 * day)
        #expect(lane.availableStarts(9 * day + 30_000) == 1)
        lane.handle(.setRate(nil), at: 9 * day)
        #expect(lane == LaneLife() && lane.availableStarts(0) == .max)
    }

    @Test func `a rate of any numbers is bounded`() {
        for rate in [
            LaneRate(.max, per: .seconds(Int64.max)), LaneRate(.min, per: .zero),
            LaneRate(1, per: .seconds(366 * 86_400)),
        ] {
            var lane = LaneLife()
            lane.handle(.setRate(rate), at: 0)
            let now: Int64 = 1_900_000_000_000
            let starts = lane.availableStarts(now)
            #expect(starts == max(1, rate.count / 20))
            lane.handle(.started(starts), at: now)
            #expect(lane.availableStarts(now) == 0 && lane.nextStart ?? 0 > now)
        }
    }

    @Test func `a limit on items in progress is bounded, and survives the unblocking of its lane`() {
        var lane = LaneLife()
        #expect(lane.availableSlots(running: 1_000) == .max)
        for (count, limit) in [(4, 4), (0, 1), (.min, 1), (.max, 1_000_000)] as [(Int, Int)] {
            lane.handle(.setMaxRunning(count), at: 0)
            #expect(lane.maxRunning == limit)
        }
        lane.handle(.setMaxRunning(2), at: 0)
        lane.handle(.unblock, at: 0)
        #expect((0...3).map(lane.availableSlots(running:)) == [2, 1, 0, -1])
        lane.handle(.setMaxRunning(nil), at: 0)
        #expect(lane == LaneLife())
    }

    @Test func `the state of a lane from an older process has no limit on items in progress`() throws {
        let old = Data(#"{"restsUntil": 5, "failures": 1, "refusals": 0}"#.utf8)
        var lane = try JSONDecoder().decode(LaneLife.self, from: old)
        #expect(lane.maxRunning == nil && lane.suspendedUntil == 5 && lane.failures == 1)
        lane.handle(.setMaxRunning(3), at: 0)
        #expect(try JSONDecoder().decode(LaneLife.self, from: JSONEncoder().encode(lane)) == lane)
    }

    @Test func `unblocking opens a lane immediately`() {
        var lane = LaneLife()
        lane.handle(.block("status401", jitter: 0), at: 0)
        #expect(lane.suspendedUntil == 7_500)
        lane.handle(.unblock, at: 6)
        #expect(lane.availableSlots(6, of: 2) == 2 && lane == LaneLife())
    }

    @Test func `five forbidden items in a row block the lane`() {
        var lane = LaneLife()
        for _ in 0..<4 { lane.handle(.forbidden("status403", jitter: 1), at: 0) }
        lane.handle(.responded, at: 0)
        for _ in 0..<4 { lane.handle(.forbidden("status403", jitter: 1), at: 0) }
        #expect(lane.blocked == nil && lane.isOpen(0))
        lane.handle(.forbidden("status403", jitter: 1), at: 0)
        #expect(lane.blocked == "status403" && lane.suspendedUntil == 30_000)
        // A forbidden probe blocks the lane again, for longer.
        lane.handle(.forbidden("status403", jitter: 1), at: 30_000)
        #expect(lane.blocked == "status403" && lane.suspendedUntil == 90_000)
    }

    @Test func `a probe makes a blocked lane due, and changes no other`() {
        var lane = LaneLife()
        lane.handle(.block("status401", jitter: 1), at: 1_000)
        let failures = lane.failures
        #expect(lane.availableSlots(2_000, of: 5) == 0)
        lane.handle(.probe, at: 2_000)
        #expect(lane.availableSlots(2_000, of: 5) == 1 && lane.blocked == "status401" && lane.failures == failures)
        var suspended = LaneLife()
        suspended.handle(.suspend(60_000), at: 1_000)
        suspended.handle(.probe, at: 2_000)
        #expect(!suspended.isOpen(2_000))
    }
}
