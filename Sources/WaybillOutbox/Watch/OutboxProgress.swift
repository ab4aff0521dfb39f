import Waybill
public import WaybillCore

/// The progress of an outbox or of a batch.
public struct OutboxProgress: Sendable, Hashable {
    /// The number of items and bytes by state.
    public var tally: OutboxTally
    /// The deliveries in progress.
    public var running: [RunningItem]
    /// The number of bytes of finished items, plus the acknowledged bytes of running ones.
    public var bytesDone: Int64
    /// The number of bytes of all items, as far as it is known.
    public var bytesTotal: Int64
    /// The rate in bytes per second, smoothed over 30 seconds.
    public var bytesPerSecond: Double
    /// The estimated remaining time at this rate; `nil` if it cannot be estimated. Never negative.
    public var timeLeft: Duration?
    /// The blocked lanes that need user action, with the reasons.
    public var blockedLanes: [String: String]

    /// Whether every item has ended.
    public var isFinished: Bool { tally.unfinished == 0 }
}

/// Computes progress snapshots from periodic samples. Performs no I/O.
struct ProgressMeter {
    private var rate: Double?
    private var last: (bytes: Int64, at: Duration)?

    /// Returns the snapshot for a sample taken at a given time.
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
                // At first the mean of all samples; samples older than half a minute have little weight.
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
    /// Returns progress snapshots at a bounded rate while they are iterated; for a batch, until it is finished. Causes
    /// no work while there is no iteration, and works from any process. With a shared store, the bytes of an item that
    /// another machine delivers count when the item has ended.
    ///
    /// - Parameters:
    ///   - batch: The batch, or `nil` for all items.
    ///   - interval: The time between two snapshots, at least 200 ms.
    /// - Returns: The snapshots; each iteration starts with the current state.
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
