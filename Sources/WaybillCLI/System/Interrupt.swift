import Glibc
import Waybill

/// SIGINT and SIGTERM: the first one asks for a clean end, the next one ends the process at once.
///
/// Programs that hand signals on, such as `timeout`, send each of them to the process and to its group, so what comes
/// within 300 ms of the first is taken to be the same.
///
/// A signal that was ignored when the process began (`nohup`, a job in the background) stays ignored.
enum Interrupt {
    /// The first signal that came, or `nil`. It is set before the callback of ``onFirst(_:)``.
    static var signal: Int32? { heard.withLock { $0 } }

    // What the handler keeps is its own: another thread could not read that without a race.
    private static let heard = Locked<Int32?>(nil)

    /// Holds signals from now on until ``onFirst(_:)`` is called, so that one that comes between the start of the work and
    /// that call does not end the process. Called once.
    static func arm() {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        unsafe wakeUp = ends[1]
        // Read once before the handler may: a global of Swift's is made at its first use.
        unsafe firstSignal = 0
        unsafe firstTime = 0
        unsafe listening = ends[0]
        for number in [SIGINT, SIGTERM] { install(number) }
    }

    /// Calls back on a thread of its own when the first signal comes, or has come since ``arm()``.
    static func onFirst(_ body: @escaping @Sendable (Int32) -> Void) {
        let reader = unsafe listening
        guard reader >= 0 else { return }
        // Without a thread for it, the first signal is ignored and a second one ends the command.
        _ = BlockingThread.start {
            var number: UInt8 = 0
            while true {
                let count = unsafe read(reader, &number, 1)
                if count == 1 {
                    heard.withLock { $0 = Int32(number) }
                    return body(Int32(number))
                }
                if count == 0 || errno != EINTR { return }
            }
        }
    }

    private static func install(_ number: Int32) {
        var action = sigaction()
        var before = sigaction()
        unsafe sigaction(number, nil, &before)
        let isIgnored = unsafe unsafeBitCast(before.__sigaction_handler.sa_handler, to: Int.self) == 1
        guard !isIgnored else { return }
        unsafe action.__sigaction_handler.sa_handler = takeSignal
        action.sa_flags = SA_RESTART
        unsafe sigaction(number, &action, nil)
    }
}

nonisolated(unsafe) private var firstSignal: Int32 = 0
nonisolated(unsafe) private var firstTime: Int64 = 0
nonisolated(unsafe) private var wakeUp: Int32 = -1
nonisolated(unsafe) private var listening: Int32 = -1

/// Runs in the signal's context, where only a few calls are allowed (`signal-safety(7)`).
private func takeSignal(_ number: Int32) {
    let saved = errno
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    let milliseconds = Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000
    guard unsafe firstSignal == 0 else {
        if unsafe milliseconds - firstTime > 300 { _exit(128 + number) }
        return
    }
    unsafe firstSignal = number
    unsafe firstTime = milliseconds
    var byte = UInt8(truncatingIfNeeded: number)
    unsafe _ = write(wakeUp, &byte, 1)
    errno = saved
}
