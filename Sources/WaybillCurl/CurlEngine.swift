import CWaybillCurl
import Glibc
import WaybillCore

/// One thread that owns one multi handle and everything in it.
///
/// Others only post commands. The loop: take commands, let libcurl work, end what has ended, look at the clock, sleep
/// until something happens. It never blocks on anything else: not on a disk, not on a name server, not on a lock that
/// is held over foreign code.
final class CurlEngine: @unchecked Sendable {
    let inbox: EngineInbox
    let sockets = SocketRegistry()
    var expectations = ExpectMemory()
    var origins = OriginMemory()
    private var commands: [EngineCommand] = []
    /// By the address of the easy handle, which is what libcurl tells of a transfer that has ended.
    private var active: [UInt: CurlTransfer] = [:]
    private var pool = HandlePool()
    /// Those of whose request the kernel holds back what is less than a segment, for more of it follows at once.
    var held: [CurlTransfer] = []
    private var nextTick = ContinuousClock.now
    /// When the first of those bodies may go on that are held back.
    private var nextRelease: ContinuousClock.Instant?
    private var patience = Patience()
    private var spin = SpinGuard()
    /// Counts the calls of libcurl to the callbacks of transfers, except those while it reads from a proxy's tunnel.
    var callbacks = 0
    private var transfersOverHTTP2 = 0
    /// Counts the calls of `curl_multi_perform`.
    private(set) var round = 0
    private var isClosing = false
    private let maximumIdleConnections: Int
    private var connectionLimit = 0

    /// Whether no transfer is at work.
    var isIdle: Bool { active.isEmpty }

    /// `nil` if no file descriptor or no memory is free.
    init?(maximumIdleConnections: Int) {
        guard let multi = MultiHandle() else { return nil }
        self.maximumIdleConnections = max(0, min(maximumIdleConnections, 1 << 24))
        inbox = EngineInbox(multi: multi)
    }

    /// Starts the thread. It keeps the engine alive until ``EngineCommand/close`` and the last transfer's end.
    ///
    /// - Returns: Whether the thread runs. If it does not, the engine is closed.
    func run() -> Bool {
        if BlockingThread.start({ [self] in loop() }) { return true }
        inbox.close()
        return false
    }

    private func loop() {
        unsafe wb_prepare_thread("waybill-curl")
        // exit(3) takes from libcurl what its TLS library holds, under the feet of whoever is at work. So it waits for the
        // engine to sleep, and then the engine never wakes.
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

    /// One round.
    ///
    /// - Returns: For how many milliseconds there is nothing to do, or `nil` when there never will be.
    private func work() -> Int32? {
        inbox.take(into: &commands)
        for command in commands { perform(command) }
        limitConnections()
        round &+= 1
        inbox.multi.perform()
        letSegmentsGo()
        let hasEnded = endFinished()
        if hasEnded, active.isEmpty, !isClosing { patience.linger(inbox) }
        let now = ContinuousClock.now
        if now >= nextTick { tick(now) }
        if let due = nextRelease, now >= due { release(now) }
        if isClosing, active.isEmpty { return nil }
        if transfersOverHTTP2 > 0, spin.isSpinning(callbacks: callbacks, now: now) { inbox.pause(for: SpinGuard.pause) }
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

    /// libcurl counts the connections at work too: with a fixed limit, more transfers at once than that would each find the
    /// connection of the one before closed. So the limit moves with their number. The one that ends next is not counted, for
    /// its connection falls idle; and 0 would mean libcurl's own limit.
    private func limitConnections() {
        let limit = max(1, maximumIdleConnections + active.count - 1)
        guard limit != connectionLimit else { return }
        connectionLimit = limit
        inbox.multi.limitConnections(to: limit)
    }

    /// Whatever libcurl came to write: nothing is held back beyond one of its rounds.
    private func letSegmentsGo() {
        for transfer in held { transfer.letSegmentsGo() }
        held.removeAll(keepingCapacity: true)
    }

    // MARK: - Life of a transfer

    private func start(_ transfer: CurlTransfer) {
        do throws(TransferError) {
            guard let handle = pool.take() else {
                throw TransferError(.other, "libcurl could not make a handle; memory is out.", outcome: .notSent)
            }
            try transfer.begin(on: self, handle: handle) { [inbox, address = handle.address] in
                inbox.post(.readable(address))
            }
            let code = transfer.join(inbox.multi)
            guard code == CURLM_OK else {
                transfer.closeBody()
                throw TransferError(
                    .other, "libcurl refuses the transfer (multi code \(code.rawValue)).", outcome: .notSent)
            }
        } catch {
            transfer.engine = nil
            transfer.tell(
                TransferEnd(
                    result: .failure(error), evidence: TransferEvidence(announced: transfer.request.body?.length)))
            return
        }
        active[transfer.address] = transfer
        if transfer.mayUseHTTP2 { transfersOverHTTP2 += 1 }
        let interval = TransferWatch.interval(for: transfer.request.options.limits)
        nextTick = min(nextTick, .now + min(interval, Self.progressInterval))
    }

    /// - Returns: Whether a transfer has ended.
    private func endFinished() -> Bool {
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
        finish(transfer, end: transfer.end(code: nil, own: reason), mayReuse: false)
    }

    /// Takes the handle out before anybody is told, so that an abandoned transfer's socket is closed by then.
    private func finish(_ transfer: CurlTransfer, end: TransferEnd, mayReuse: Bool) {
        if transfer.mayUseHTTP2 { transfersOverHTTP2 -= 1 }
        if let handle = transfer.leave(inbox.multi), mayReuse { pool.give(handle) }
        transfer.tell(end)
    }

    // MARK: - The clock

    /// Twenty looks a second while somebody listens.
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

    /// Has a body that is held back go on by then.
    func release(by due: ContinuousClock.Instant) {
        nextRelease = min(nextRelease ?? due, due)
    }

    private func release(_ now: ContinuousClock.Instant) {
        nextRelease = nil
        for transfer in active.values {
            transfer.goOnIfDue(now)
            if let due = transfer.heldUntil { release(by: due) }
        }
    }
}
