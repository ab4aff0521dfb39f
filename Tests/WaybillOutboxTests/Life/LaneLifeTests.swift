import Testing

@testable import WaybillOutbox

@Suite struct LaneLifeTests {
    @Test func `who is not reached is left alone for longer each time, and never for no time`() {
        var lane = LaneLife()
        var now: Int64 = 1_000
        var rests: [Int64] = []
        for _ in 0..<9 {
            lane.handle(.offline(jitter: 1), at: now)
            rests.append(lane.restsUntil - now)
            #expect(!lane.isOpen(now))
            now = lane.restsUntil
            #expect(lane.isOpen(now))
        }
        #expect(rests == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
        lane.handle(.answered, at: now)
        lane.handle(.offline(jitter: 0), at: now)
        #expect(lane.restsUntil - now == 250)
    }

    @Test func `the longest rest that was asked for counts, up to an hour, and a clock put back ends it`() {
        var lane = LaneLife()
        let day: Int64 = 86_400_000
        lane.handle(.rest(60_000), at: 10 * day)
        lane.handle(.rest(5_000), at: 10 * day)
        #expect(lane.restsUntil == 10 * day + 60_000)
        lane.handle(.rest(.max / 2), at: 10 * day)
        #expect(lane.restsUntil == 10 * day + 3_600_000)
        #expect(!lane.isOpen(10 * day) && lane.isOpen(8 * day) && lane.isOpen(12 * day))
    }

    @Test func `a blocked lane stays so until somebody does something`() {
        var lane = LaneLife()
        lane.handle(.block("status401"), at: 0)
        lane.handle(.answered, at: 5)
        #expect(!lane.isOpen(1_000_000_000))
        lane.handle(.unblock, at: 6)
        #expect(lane.isOpen(6) && lane == LaneLife())
    }
}
