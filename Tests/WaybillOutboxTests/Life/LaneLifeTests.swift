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
