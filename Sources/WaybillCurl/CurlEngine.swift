import CWaybillCurl
import Glibc
import WaybillCore

/// A thread that owns a multi handle and all its transfers.
///
/// Other threads only post commands. The loop takes commands, runs libcurl, finishes completed transfers, checks the
/// timers, and sleeps until the next event. It never blocks on anything else: not on a disk, a name server, or a lock
/// that is held while foreign code runs.
final class CurlEngine: @unchecked Sendable {
    let inbox: EngineInbox
    let sockets = SocketRegistry()
    var expectContinueCache = ExpectContinueCache()
    var originCache = OriginCache()
    private var commands: [EngineCommand] = []
    /// Running transfers by the address of their easy handle, by which libcurl identifies a completed transfer.
    private var active: [UInt: CurlTransfer] = [:]
    private var pool = HandlePool()
    /// The transfers whose sockets hold back partial segments (`TCP_CORK`), because more follows immediately.
    var corked: [CurlTransfer] = []
    private var nextTick = ContinuousClock.now
    /// The time at which the first of the delayed bodies may continue.
    private var nextRelease: ContinuousClock.Instant?
    private var idleSpin = IdleSpin()
    private var spinGuard = SpinGuard()
    /// The number of calls of libcurl to the callbacks of transfers, except those while it reads from a proxy's tunnel.
    var callbacks = 0
    private var transfersOverHTTP2 = 0
    /// The number of calls of `curl_multi_perform`.
    private(set) var round = 0
    private var isClosing = false
    private let maximumIdleConnections: Int
    private var connectionLimit = 0

    /// Whether no transfer is running.
    var isIdle: Bool { active.isEmpty }

    /// Returns `nil` if no file descriptor or no memory is available.
    init?(maximumIdleConnections: Int) {
        guard let multi = MultiHandle() else { return nil }
        self.maximumIdleConnections = max(0, min(maximumIdleConnections, 1 << 24))
        inbox = EngineInbox(multi: multi)
    }

    /// Starts the thread, which retains the engine until ``EngineCommand/close`` and the end of the last transfer.
    ///
    /// - Returns: Whether the thread was started. If not, the engine is closed.
    func run() -> Bool {
        if BlockingThread.start({ [self] in loop() }) { return true }
        inbox.close()
        return false
    }

    private func loop() {
        unsafe wb_prepare_thread("waybill-curl")
        // exit(3) frees resources of the TLS library that libcurl still uses on this thread. The exit gate therefore
        // makes it wait until the engine sleeps, and then the engine never wakes.
        wb_begin_work()
        while let pause = work() {
            wb_end_work()
            inbox.sleep(milliseconds: pause)
            wb_begin_work()
        }
        pool = HandlePool()
        inbox.close()
        wb_end_thread()
    }

    /// Runs one round.
    ///
    /// - Returns: The milliseconds until the next round, or `nil` if the engine is closed and has no transfers left.
    private func work() -> Int32? {
        inbox.take(into: &commands)
        for command in commands { perform(command) }
        limitConnections()
        round &+= 1
        inbox.multi.perform()
        uncork()
        let hasEnded = finishCompleted()
        if hasEnded, active.isEmpty, !isClosing { idleSpin.spin(inbox) }
        let now = ContinuousClock.now
        if now >= nextTick { tick(now) }
        if let due = nextRelease, now >= due { release(now) }
        if isClosing, active.isEmpty { return nil }
        if transfersOverHTTP2 > 0, spinGuard.isSpinning(callbacks: callbacks, now: now) {
            inbox.pause(for: SpinGuard.pause, untilInputOf: spinGuard.waitsForInput ? sockets.all : [])
        }
        let next = min(nextTick, nextRelease ?? nextTick)
        return active.isEmpty ? 600_000 : milliseconds(until: next, from: now)
    }

    private func milliseconds(until tick: ContinuousClock.Instant, from now: ContinuousClock.Instant) -> Int32 {
        Int32(clamping: (tick - now).wholeMilliseconds + 1)
    }

    private func perform(_ command: EngineCommand) {
        switch command {
        case .start(let transfer): start(transfer)
        case .cancel(let transfer): abandon(transfer, because: .cancelled)
        case .pause(let transfer): transfer.setPaused(true)
        case .resume(let transfer): transfer.setPaused(false)
        case .limit(let transfer, let rate): transfer.limit(to: rate)
        case .readable(let handle): active[handle]?.bodyIsReadable()
        case .close: isClosing = true
        }
    }

    /// Adapts libcurl's connection limit to the number of running transfers.
    ///
    /// libcurl's limit includes connections in use: with a fixed limit, each of more concurrent transfers than the
    /// limit would find the previous transfer's connection closed. The transfer that ends next is not counted, because
    /// its connection becomes idle. The limit is at least 1, because 0 selects libcurl's default.
    private func limitConnections() {
        let limit = max(1, maximumIdleConnections + active.count - 1)
        guard limit != connectionLimit else { return }
        connectionLimit = limit
        inbox.multi.limitConnections(to: limit)
    }

    /// Sends partial segments at the end of each round, whatever libcurl has written.
    private func uncork() {
        for transfer in corked { transfer.uncork() }
        corked.removeAll(keepingCapacity: true)
    }

    // MARK: - Life of a transfer

    private func start(_ transfer: CurlTransfer) {
        do throws(TransferError) {
            guard let handle = pool.take() else {
                throw TransferError(.other, "libcurl could not create a handle: out of memory.", outcome: .notSent)
            }
            try transfer.begin(on: self, handle: handle) { [inbox, address = handle.address] in
                inbox.post(.readable(address))
            }
            let code = transfer.add(to: inbox.multi)
            guard code == CURLM_OK else {
                transfer.closeBody()
                throw TransferError(
                    .other, "libcurl rejected the transfer (CURLMcode \(code.rawValue)).", outcome: .notSent)
            }
        } catch {
            transfer.engine = nil
            transfer.reportEnd(
                TransferEnd(
                    result: .failure(error), evidence: TransferCounters(announced: transfer.request.body?.length)))
            return
        }
        active[transfer.address] = transfer
        if transfer.mayUseHTTP2 { transfersOverHTTP2 += 1 }
        let interval = TransferWatch.interval(for: transfer.request.options.limits)
        nextTick = min(nextTick, .now + min(interval, Self.progressInterval))
    }

    /// - Returns: Whether a transfer has ended.
    private func finishCompleted() -> Bool {
        var hasEnded = false
        while let (handle, code) = inbox.multi.nextDone() {
            guard let transfer = active.removeValue(forKey: handle) else { continue }
            finish(transfer, end: transfer.end(code: code), mayReuse: code == CURLE_OK)
            hasEnded = true
        }
        return hasEnded
    }

    private func abandon(_ transfer: CurlTransfer, because reason: TransferError.Code) {
        guard transfer.isRunning, active.removeValue(forKey: transfer.address) != nil else { return }
        finish(transfer, end: transfer.end(code: nil, reason: reason), mayReuse: false)
    }

    /// Removes the handle before the sink is notified, so that the socket of an abandoned transfer is closed by then.
    private func finish(_ transfer: CurlTransfer, end: TransferEnd, mayReuse: Bool) {
        if transfer.mayUseHTTP2 { transfersOverHTTP2 -= 1 }
        if let handle = transfer.remove(from: inbox.multi), mayReuse { pool.put(handle) }
        transfer.reportEnd(end)
    }

    // MARK: - Timer

    /// The interval of checks while a sink wants progress: twenty per second.
    static let progressInterval = Duration.milliseconds(50)

    private func tick(_ now: ContinuousClock.Instant) {
        var interval = Duration.milliseconds(250)
        var overdue: [(CurlTransfer, TransferError.Code)] = []
        for transfer in active.values {
            if let limit = transfer.tick(now: now) { overdue.append((transfer, limit)) }
            interval = min(interval, TransferWatch.interval(for: transfer.request.options.limits))
            if transfer.sink?.wantsProgress == true { interval = min(interval, Self.progressInterval) }
        }
        for (transfer, limit) in overdue { abandon(transfer, because: limit) }
        nextTick = now + interval
    }

    /// Schedules a delayed body to continue at `due` at the latest.
    func release(by due: ContinuousClock.Instant) {
        nextRelease = min(nextRelease ?? due, due)
    }

    private func release(_ now: ContinuousClock.Instant) {
        nextRelease = nil
        for transfer in active.values {
            transfer.resumeIfDue(now)
            if let due = transfer.delayedUntil { release(by: due) }
        }
    }
}
