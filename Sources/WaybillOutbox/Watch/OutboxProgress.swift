import Waybill
public import WaybillCore

/// How far an outbox, or a batch of it, has come.
public struct OutboxProgress: Sendable, Hashable {
    /// Items and bytes by state.
    public var tally: OutboxTally
    /// What is being delivered.
    public var running: [RunningItem]
    /// Bytes of items that ended, and those that were acknowledged of running ones.
    public var bytesDone: Int64
    /// Bytes of all items, as far as they are known.
    public var bytesTotal: Int64
    /// Bytes per second, smoothed over half a minute.
    public var bytesPerSecond: Double
    /// How long the rest takes at this pace; `nil` while there is no telling. Never negative.
    public var timeLeft: Duration?
    /// Lanes that wait for a person, with the reason.
    public var blockedLanes: [String: String]

    /// Whether every item has ended.
    public var isFinished: Bool { tally.unfinished == 0 }
}

/// Makes snapshots out of what is seen now and then. Pure.
struct ProgressMeter {
    private var rate: Double?
    private var last: (bytes: Int64, at: Duration)?

    /// Takes in what is there at a time.
    mutating func snapshot(
        _ tally: OutboxTally, _ running: [RunningItem], _ blocked: [String: String], at time: Duration
    ) -> OutboxProgress {
        let ended = tally.bytes.filter { $0.key.isTerminal }.values.reduce(0, +)
        let total = tally.bytes.values.reduce(0, +)
        let moving = running.reduce(0) { $0 + min($1.acknowledged, $1.total ?? .max) }
        let done = min(total, ended + moving)
        if let last {
            let seconds = (time - last.at) / .seconds(1)
            if seconds > 0 {
                let now = Double(max(0, done - last.bytes)) / seconds
                // The mean of the time so far at first; what is half a minute old counts for little.
                let weight = min(1, seconds / Self.memory)
                rate = rate.map { $0 + weight * (now - $0) } ?? now
            }
        }
        last = (done, time)
        var left: Duration?
        if tally.unfinished == 0 {
            left = .zero
        } else if let rate, rate > 1, total > done {
            left = .seconds(Double(total - done) / rate)
        }
        return OutboxProgress(
            tally: tally, running: running, bytesDone: done, bytesTotal: total, bytesPerSecond: rate ?? 0,
            timeLeft: left, blockedLanes: blocked)
    }

    private static let memory = 30.0
}

extension Outbox {
    /// Snapshots at a bounded rate, for as long as somebody listens; with a batch, until it is finished. Costs nothing while
    /// nobody does, and works from any process.
    ///
    /// - Parameters:
    ///   - batch: The batch, or `nil` for all.
    ///   - interval: The time between two, at least 200 ms.
    /// - Returns: The snapshots; each loop over them starts with what is there then.
    public func progress(batch: String? = nil, every interval: Duration = .milliseconds(500)) -> AsyncValues<
        OutboxProgress, OutboxError
    > {
        let interval = max(interval, .milliseconds(200))
        return AsyncValues { [self] in
            var meter = ProgressMeter()
            var isFirst = true
            var isOver = false
            let start = ContinuousClock.now
            return { () async throws(OutboxError) in
                guard !isOver else { return nil }
                if !isFirst, (try? await Task.sleep(for: interval)) == nil { return nil }
                isFirst = false
                let tally = try await self.tally(batch: batch)
                let running = try await self.running().filter { batch == nil || $0.batch == batch }
                let blocked = try await self.blockedLanes()
                let snapshot = meter.snapshot(tally, running, blocked, at: start.duration(to: .now))
                isOver = batch != nil && snapshot.isFinished
                return snapshot
            }
        }
    }
}
