import CWaybillCurl
import Glibc
import WaybillCore

/// A thread that owns a multi handle and all its transfers.
///
/// Other threads only post commands. The loop takes commands, runs libcurl, finishes completed transfers, checks the
/// timers, and sleeps until the next event. It never blocks on anything else: not on a disk, a name server, or a lock
/// that is held while foreign code runs.
@safe final class CurlEngine: @unchecked Sendable {
    let inbox: EngineInbox
    let sockets = SocketRegistry()
    var expectContinueCache = ExpectContinueCache()
    var targetCache = URLPartsCache()
    var handles = HandlePool()
    /// The connections on which the engine exchanges messages itself.
    var connections: ConnectionPool
    var buffers = OutputBufferPool()
    /// The space for received bytes.
    let input: UnsafeMutableRawBufferPointer
    private var commands: [EngineCommand] = []
    /// Running transfers by their key. That of a ``CurlTransfer`` is the address of its easy handle, by which libcurl
    /// identifies a completed transfer.
    private var active: [UInt: Transfer] = [:]
    /// The transfers for which libcurl is making a connection, by the address of the easy handle.
    private var connecting: [UInt: HTTP1Transfer] = [:]
    /// The number of transfers that libcurl runs.
    private var curlTransfers = 0
    /// libcurl 8.10 and later close TLS connections in several steps, for which it must be called for some time after
    /// its last transfer.
    private var closingUntil: ContinuousClock.Instant?
    private static let closingTime = Duration.seconds(2)
    /// The transfers that can send or receive in the next round.
    private var ready: [HTTP1Transfer] = []
    private var nextTick = ContinuousClock.now
    /// The time at which the first of the delayed bodies may continue.
    private var nextRelease: ContinuousClock.Instant?
    private var idleSpin = IdleSpin()
    private var spinGuard = SpinGuard()
    /// The number of calls of libcurl to the callbacks of transfers, except those while it reads from a proxy's tunnel.
    var callbacks = 0
    var transfersOverHTTP2 = 0
    /// The number of calls of `curl_multi_perform`.
    private(set) var round = 0
    private var isClosing = false
    private let maximumIdleConnections: Int
    private var connectionLimit = 0

    /// Whether no transfer is running.
    var isIdle: Bool { active.isEmpty }
    /// Whether one transfer is running.
    var runsOne: Bool { active.count == 1 }

    /// Returns `nil` if no file descriptor or no memory is available.
    init?(maximumIdleConnections: Int) {
        guard let multi = MultiHandle() else { return nil }
        guard let poller = SocketPoller() else {
            multi.free()
            return nil
        }
        self.maximumIdleConnections = max(0, min(maximumIdleConnections, 1 << 24))
        connections = ConnectionPool(maximumIdle: self.maximumIdleConnections)
        inbox = EngineInbox(multi: multi, poller: poller)
        unsafe input = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    }

    deinit { unsafe input.deallocate() }

    var poller: SocketPoller { inbox.poller }

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
            let events = inbox.sleep(milliseconds: pause, inLibcurl: usesLibcurl)
            wb_begin_work()
            for index in 0..<events {
                if let event = poller.event(index) { handle(event) }
            }
        }
        for connection in connections.removeAllIdle() { connection.close(in: self) }
        handles = HandlePool()
        inbox.close()
        wb_end_thread()
    }

    /// Runs one round.
    ///
    /// - Returns: The milliseconds until the next round, or `nil` if the engine is closed and has no transfers left.
    private func work() -> Int32? {
        performCommands()
        round &+= 1
        if usesLibcurl {
            let wasIdle = active.isEmpty
            limitConnections()
            inbox.multi.perform()
            finishCompleted()
            workOnReady()
            if !wasIdle, active.isEmpty, !isClosing { idleSpin.spin(inbox) }
        }
        let now = ContinuousClock.now
        if now >= nextTick { tick(now) }
        if let due = nextRelease, now >= due { release(now) }
        closeExpired(now)
        if let until = closingUntil, now >= until { closingUntil = nil }
        if isClosing, active.isEmpty { return nil }
        if !ready.isEmpty { return 0 }
        if transfersOverHTTP2 > 0, spinGuard.isSpinning(callbacks: callbacks, now: now) {
            inbox.pause(
                for: SpinGuard.pause, untilInputOf: [poller.descriptor] + (spinGuard.waitsForInput ? sockets.all : []))
        }
        var next = active.isEmpty ? now + .seconds(600) : min(nextTick, nextRelease ?? nextTick)
        if let expiry = connections.nextExpiry { next = min(next, expiry) }
        if let closingUntil { next = min(next, closingUntil) }
        return milliseconds(until: next, from: now)
    }

    /// Performs commands and works on the transfers that are ready, until no further commands arrive: the end of an
    /// upload often starts the next one.
    private func performCommands() {
        for _ in 0..<Self.maximumPasses {
            let wasIdle = active.isEmpty
            inbox.take(into: &commands)
            for command in commands { perform(command) }
            workOnReady()
            let hasBecomeIdle = !wasIdle && active.isEmpty && !isClosing
            if hasBecomeIdle { idleSpin.spin(inbox) } else if commands.isEmpty { return }
        }
    }

    /// Bounds the passes between two looks at the sockets and the timers.
    private static let maximumPasses = 8

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
        case .run(let job, let executor): unsafe job.runSynchronously(on: executor.asUnownedTaskExecutor())
        case .close: isClosing = true
        }
    }

    /// Adapts libcurl's connection limit to the number of running transfers.
    ///
    /// libcurl's limit includes connections in use: with a fixed limit, each of more concurrent transfers than the
    /// limit would find the previous transfer's connection closed. The transfer that ends next is not counted, because
    /// its connection becomes idle. The limit is at least 1, because 0 selects libcurl's default.
    private func limitConnections() {
        let limit = max(1, maximumIdleConnections + active.count + connections.encryptedCount - 1)
        guard limit != connectionLimit else { return }
        connectionLimit = limit
        inbox.multi.limitConnections(to: limit)
    }

    // MARK: - Life of a transfer

    private func start(_ transfer: Transfer) {
        do throws(TransferError) {
            try transfer.begin(on: self)
        } catch {
            transfer.engine = nil
            transfer.reportEnd(
                TransferEnd(
                    result: .failure(error), evidence: TransferCounters(announced: transfer.request.body?.length)))
            return
        }
        active[transfer.key] = transfer
        if transfer is CurlTransfer { curlTransfers += 1 }
        let interval = TransferWatch.interval(for: transfer.request.options.limits)
        nextTick = min(nextTick, .now + min(interval, Self.progressInterval))
    }

    /// Processes what libcurl has completed: transfers and connections.
    private func finishCompleted() {
        while let (handle, code) = inbox.multi.nextDone() {
            if let transfer = connecting[handle] {
                transfer.connectorDidFinish(code)
            } else if let transfer = active[handle] as? CurlTransfer {
                transfer.complete(code)
                finish(transfer)
            }
        }
    }

    private func abandon(_ transfer: Transfer, because reason: TransferError.Code) {
        guard transfer.isRunning else { return }
        finish(transfer, because: reason)
    }

    /// Ends a transfer. Its connection is released before the sink is notified, so that the socket of an abandoned
    /// transfer is closed by then.
    func finish(_ transfer: Transfer, because reason: TransferError.Code? = nil) {
        guard active.removeValue(forKey: transfer.key) != nil else { return }
        if transfer is CurlTransfer {
            curlTransfers -= 1
            closingUntil = .now + Self.closingTime
        }
        let end = transfer.end(because: reason)
        transfer.release(from: self)
        transfer.reportEnd(end)
    }

    // MARK: - Connections

    /// Whether libcurl has transfers or connections to work on.
    private var usesLibcurl: Bool { curlTransfers > 0 || !connecting.isEmpty || closingUntil != nil }

    func addConnecting(_ transfer: HTTP1Transfer, handle: UInt) { connecting[handle] = transfer }

    func removeConnecting(handle: UInt) { connecting[handle] = nil }

    /// Takes an idle connection for a request.
    func takeConnection(_ key: ConnectionKey) -> HTTP1Connection? {
        let (connection, dead) = connections.take(key, now: .now)
        for connection in dead { connection.close(in: self) }
        return connection
    }

    /// Keeps a connection for a later request.
    func keep(_ connection: HTTP1Connection) {
        connections.put(connection, now: .now)?.close(in: self)
    }

    func close(_ connection: HTTP1Connection) {
        connections.forget(connection)
        connection.close(in: self)
    }

    private func closeExpired(_ now: ContinuousClock.Instant) {
        while let connection = connections.removeExpired(now: now) { connection.close(in: self) }
    }

    /// Queues a transfer for the next round.
    func queue(_ transfer: HTTP1Transfer) {
        guard !transfer.isQueued else { return }
        transfer.isQueued = true
        ready.append(transfer)
    }

    /// Lets each queued transfer send and receive once, in the order of their events.
    private func workOnReady() {
        guard !ready.isEmpty else { return }
        let transfers = ready
        ready.removeAll(keepingCapacity: true)
        for transfer in transfers { transfer.work() }
    }

    private func handle(_ event: SocketPoller.Event) {
        guard let connection = connections[event.number] else { return }
        if let transfer = connection.transfer {
            transfer.socketIsReady(
                isReadable: event.isReadable, isWritable: event.isWritable, isHangup: event.isHangup)
        } else if event.isReadable, !connection.isHealthy() {
            connections.removeIdle(connection)
            connection.close(in: self)
        }
    }

    // MARK: - Timer

    /// The interval of checks while a sink wants progress: twenty per second.
    static let progressInterval = Duration.milliseconds(50)

    private func tick(_ now: ContinuousClock.Instant) {
        var interval = Duration.milliseconds(250)
        var overdue: [(Transfer, TransferError.Code)] = []
        for transfer in active.values {
            if let limit = transfer.tick(now: now) { overdue.append((transfer, limit)) }
            interval = min(interval, TransferWatch.interval(for: transfer.request.options.limits))
            if transfer.wantsProgress { interval = min(interval, Self.progressInterval) }
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
