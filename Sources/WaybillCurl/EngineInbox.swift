import CWaybillCurl
import Glibc
import WaybillCore

/// A command from another thread to the engine.
enum EngineCommand: Sendable {
    case start(Transfer)
    case cancel(Transfer)
    case pause(Transfer)
    case resume(Transfer)
    case limit(Transfer, ByteCount?)
    /// A body that had no bytes available has some now. Its transfer is identified by the address of the handle,
    /// because a user's body may retain its wake-up closure indefinitely. If the closure is called after the transfer
    /// has ended, another body may be read once too often.
    case readable(UInt)
    /// A job of a Swift task that runs on the engine's thread.
    case run(UnownedJob, EngineExecutor)
    /// No more transfers will be started; the thread ends after its last transfer.
    case close
}

/// The command queue of the engine's thread. Posting to a busy engine costs no system call, because a post wakes only a
/// sleeping engine.
final class EngineInbox: Sendable {
    private struct State {
        var commands: [EngineCommand] = []
        var isAsleep = false
        var isClosed = false
    }

    private let state = Locked(State())
    let multi: MultiHandle
    let poller: SocketPoller

    init(multi: MultiHandle, poller: SocketPoller) {
        self.multi = multi
        self.poller = poller
    }

    /// Appends a command. Ignored after ``close()``.
    func post(_ command: EngineCommand) {
        state.withLock { [poller] state in
            guard !state.isClosed else { return }
            state.commands.append(command)
            // Under the lock, because the poller is freed after `close()` has acquired the lock.
            if state.isAsleep { poller.wake() }
            state.isAsleep = false
        }
    }

    /// Moves all commands into `commands`, in order, and reuses the storage of `commands` for the inbox.
    func take(into commands: inout [EngineCommand]) {
        commands.removeAll(keepingCapacity: true)
        var taken = commands
        commands = []
        state.withLock { state in swap(&state.commands, &taken) }
        commands = taken
    }

    /// Stays awake until a command arrives or the time has passed.
    ///
    /// - Returns: Whether a command arrived.
    func spin(for time: Duration) -> Bool {
        let end = ContinuousClock.now + time
        while state.withLock({ $0.commands.isEmpty }) {
            guard ContinuousClock.now < end else { return false }
            sched_yield()
        }
        return true
    }

    /// Sleeps until a socket is ready, the time has passed, or a command arrives; not at all if one has arrived
    /// meanwhile. `inLibcurl` is whether libcurl has sockets and timers to wait for, too.
    ///
    /// - Returns: The number of events of ``poller``.
    func sleep(milliseconds: Int32, inLibcurl: Bool) -> Int {
        guard milliseconds > 0 else { return poller.wait(milliseconds: 0) }
        let maySleep = state.withLock { state in
            state.isAsleep = state.commands.isEmpty
            return state.isAsleep
        }
        guard maySleep else { return poller.wait(milliseconds: 0) }
        if inLibcurl { multi.poll(milliseconds: milliseconds, and: poller.descriptor) }
        let count = poller.wait(milliseconds: inLibcurl ? 0 : milliseconds)
        state.withLock { $0.isAsleep = false }
        return count
    }

    /// Yields the processor until one of the sockets has input, at most for the given time, unless a command has
    /// arrived.
    func pause(for time: Duration, untilInputOf sockets: [Int32]) {
        guard state.withLock({ $0.commands.isEmpty }) else { return }
        _ = unsafe wb_wait_for_input(sockets, Int32(sockets.count), Int32(time.wholeMilliseconds))
    }

    /// Frees the multi handle. The engine's thread calls this last, while the engine still exists, because closing the
    /// idle connections calls back into it.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.commands = []
        }
        multi.free()
        poller.free()
    }
}

/// Keeps the engine awake for a short time after its last transfer has ended.
///
/// A program that sends uploads one after the other starts the next one some microseconds after the previous response.
/// Staying awake saves each upload two system calls on either side and the wake-up time of a thread, which is a fifth
/// of a small upload. If the next upload takes longer, the wait is wasted: after each unsuccessful wait, a growing
/// number of ends skips it, first one, then three, then seven, at most 63.
struct IdleSpin {
    /// Slightly longer than it takes to deliver a response and to start the next upload.
    private static let duration = Duration.microseconds(100)

    private var skips = 0
    private var remainingSkips = 0

    mutating func spin(_ inbox: EngineInbox) {
        guard remainingSkips == 0 else {
            remainingSkips -= 1
            return
        }
        skips = inbox.spin(for: Self.duration) ? 0 : min(63, skips * 2 + 1)
        remainingSkips = skips
    }
}
