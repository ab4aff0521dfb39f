import Testing
import WaybillCore

@testable import WaybillCurl

@Suite struct TransferWatchTests {
    private let start = ContinuousClock.now
    private var limits: TransferLimits {
        var limits = TransferLimits()
        limits.connect = .seconds(2)
        limits.stall = .seconds(3)
        limits.response = .seconds(5)
        return limits
    }

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .milliseconds(Int(seconds * 1_000)) }

    private func sending(_ acknowledged: Int64, sent: Int64 = 100, bytesRead: Int64 = 100)
        -> TransferWatch.TransferSnapshot
    {
        .init(isConnected: true, bytesRead: bytesRead, sent: sent, acknowledged: acknowledged)
    }

    @Test func `a connection that is not ready in time fails as connectTimeout`() {
        var watch = TransferWatch(limits: limits, now: start)
        #expect(watch.check(.init(), now: at(1.9)) == nil)
        #expect(watch.check(.init(), now: at(2)) == .connectTimeout)
    }

    @Test func `a peer that acknowledges nothing while bytes are pending is stalled`() {
        var watch = TransferWatch(limits: limits, now: start)
        #expect(watch.check(sending(0), now: at(1)) == nil)
        #expect(watch.check(sending(0), now: at(3.9)) == nil)
        #expect(watch.check(sending(0), now: at(4)) == .stalled)
    }

    @Test func `an unacknowledged head is stalled, even without a body`() {
        var watch = TransferWatch(limits: limits, now: start)
        let head = TransferWatch.TransferSnapshot(isConnected: true, hasPendingBytes: true)
        #expect(watch.check(head, now: at(1)) == nil)
        #expect(watch.check(head, now: at(3.9)) == nil)
        #expect(watch.check(head, now: at(4)) == .stalled)
    }

    @Test func `each acknowledged byte restarts the stall limit`() {
        var watch = TransferWatch(limits: limits, now: start)
        for second in 0..<20 {
            #expect(watch.check(sending(Int64(second)), now: at(Double(second) * 2)) == nil)
        }
    }

    @Test func `a body without available data is not a stall`() {
        var watch = TransferWatch(limits: limits, now: start)
        for second in 0..<20 {
            #expect(watch.check(sending(50, sent: 50, bytesRead: 50), now: at(Double(second))) == nil)
        }
    }

    @Test func `bytes buffered in libcurl count as pending`() {
        var watch = TransferWatch(limits: limits, now: start)
        _ = watch.check(sending(50, sent: 50, bytesRead: 60), now: at(0))
        #expect(watch.check(sending(50, sent: 50, bytesRead: 60), now: at(3)) == .stalled)
    }

    @Test func `a paused transfer neither stalls nor times out`() {
        var watch = TransferWatch(limits: limits, now: start)
        var snapshot = sending(0)
        _ = watch.check(snapshot, now: at(0))
        snapshot.isPaused = true
        #expect(watch.check(snapshot, now: at(50)) == nil)
        snapshot.isPaused = false
        #expect(watch.check(snapshot, now: at(51)) == nil)

        snapshot = sending(100)
        snapshot.isRequestAcknowledged = true
        #expect(watch.check(snapshot, now: at(52)) == nil)
        snapshot.isPaused = true
        #expect(watch.check(snapshot, now: at(150)) == nil)
        snapshot.isPaused = false
        #expect(watch.check(snapshot, now: at(154)) == nil)
        #expect(watch.check(snapshot, now: at(155.1)) == .responseTimeout)
    }

    @Test func `the response has its own limit, which starts with the last acknowledged byte`() {
        var watch = TransferWatch(limits: limits, now: start)
        var snapshot = sending(100)
        snapshot.isRequestAcknowledged = true
        #expect(watch.check(snapshot, now: at(10)) == nil)
        #expect(watch.check(snapshot, now: at(14.9)) == nil)
        #expect(watch.check(snapshot, now: at(15)) == .responseTimeout)
    }

    @Test func `there is no total limit unless one is set`() {
        var watch = TransferWatch(limits: limits, now: start)
        for hour in 0..<100 { #expect(watch.check(sending(Int64(hour)), now: at(Double(hour))) == nil) }
        var limited = limits
        limited.total = .seconds(7)
        var other = TransferWatch(limits: limited, now: start)
        #expect(other.check(sending(1), now: at(6.9)) == nil)
        #expect(other.check(sending(2), now: at(7)) == .totalTimeout)
    }

    @Test func `short limits are checked often`() {
        var short = limits
        short.stall = .milliseconds(200)
        #expect(TransferWatch.interval(for: short) == .milliseconds(25))
        #expect(TransferWatch.interval(for: TransferLimits()) == .milliseconds(250))
    }
}
