import Glibc
import WaybillCore

/// What other threads ask of the engine.
enum EngineCommand: Sendable {
    case start(CurlTransfer)
    case cancel(CurlTransfer)
    case pause(CurlTransfer)
    case resume(CurlTransfer)
    case limit(CurlTransfer, ByteCount?)
    /// The body that had nothing to give has something now; its transfer is the one that this handle was given to. By its
    /// address, because a body of the user's may keep what it wakes us by for ever. One that wakes us after its end makes
    /// another body be asked once too often.
    case readable(UInt)
    /// Nothing more will be started; the thread ends with its last transfer.
    case close
}

/// The way onto the engine's thread. A post wakes the engine only when it sleeps, so that a busy engine costs its
/// callers no system call.
final class EngineInbox: Sendable {
    private struct State {
        var commands: [EngineCommand] = []
        var isAsleep = false
        var isClosed = false
    }

    private let state = Locked(State())
    let multi: MultiHandle

    init(multi: MultiHandle) {
        self.multi = multi
    }

    /// Asks for something. After ``close()`` nothing happens.
    func post(_ command: EngineCommand) {
        state.withLock { [multi] state in
            guard !state.isClosed else { return }
            state.commands.append(command)
            // Under the lock, because the multi handle lives exactly until `close` has had it.
            if state.isAsleep { multi.wake() }
            state.isAsleep = false
        }
    }

    /// Takes all commands, in order, into `commands`, whose storage becomes the inbox's next one.
    func take(into commands: inout [EngineCommand]) {
        commands.removeAll(keepingCapacity: true)
        var taken = commands
        commands = []
        state.withLock { state in swap(&state.commands, &taken) }
        commands = taken
    }

    /// Stays awake until a command comes, but no longer than that.
    ///
    /// - Returns: Whether one came.
    func linger(for time: Duration) -> Bool {
        let end = ContinuousClock.now + time
        while state.withLock({ $0.commands.isEmpty }) {
            guard ContinuousClock.now < end else { return false }
            sched_yield()
        }
        return true
    }

    /// Sleeps in libcurl's poll, unless a command has come meanwhile.
    func sleep(milliseconds: Int32) {
        let maySleep = state.withLock { state in
            state.isAsleep = state.commands.isEmpty
            return state.isAsleep
        }
        guard maySleep else { return }
        multi.poll(milliseconds: milliseconds)
        state.withLock { $0.isAsleep = false }
    }

    /// Leaves the processor to others for that long, unless a command has come.
    func pause(for time: Duration) {
        guard state.withLock({ $0.commands.isEmpty }) else { return }
        usleep(UInt32(time.wholeMilliseconds * 1_000))
    }

    /// Frees the multi handle. Called by the engine's thread as its last act, while the engine still stands: closing
    /// the idle connections calls back into it.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.commands = []
        }
        multi.free()
    }
}
