import WaybillCore
import Glibc
import Waybill

/// Handles SIGINT and SIGTERM: the first one requests a clean end, the second one ends the process immediately.
///
/// Programs that forward signals, such as `timeout`, send each signal to the process and to its group. Signals that
/// arrive within 300 ms of the first are therefore treated as the same one.
///
/// A signal that was ignored when the process started (`nohup`, a background job) stays ignored.
enum Interrupt {
    /// The first received signal, or `nil`. It is set before the callback of ``onFirst(_:)``.
    static var signal: Int32? { receivedSignal.withLock { $0 } }

    // A copy of the handler's variables, which another thread could not read without a race.
    private static let receivedSignal = Locked<Int32?>(nil)

    /// Starts to intercept signals, so that a signal between the start of the work and ``onFirst(_:)`` does not end the
    /// process. Call once.
    static func arm() {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        unsafe pipeWriteEnd = ends[1]
        // Access each variable before the handler can: Swift initializes a global variable at its first use.
        unsafe firstSignal = 0
        unsafe firstTime = 0
        unsafe pipeReadEnd = ends[0]
        for number in [SIGINT, SIGTERM] { install(number) }
    }

    /// Calls back on a dedicated thread when the first signal arrives, or has arrived since ``arm()``.
    static func onFirst(_ body: @escaping @Sendable (Int32) -> Void) {
        let reader = unsafe pipeReadEnd
        guard reader >= 0 else { return }
        // If no thread can be started, the first signal is ignored and the second one ends the command.
        _ = BlockingThread.start {
            var number: UInt8 = 0
            while true {
                let count = unsafe read(reader, &number, 1)
                if count == 1 {
                    receivedSignal.withLock { $0 = Int32(number) }
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
        unsafe action.__sigaction_handler.sa_handler = handleSignal
        action.sa_flags = SA_RESTART
        unsafe sigaction(number, &action, nil)
    }
}

nonisolated(unsafe) private var firstSignal: Int32 = 0
nonisolated(unsafe) private var firstTime: Int64 = 0
nonisolated(unsafe) private var pipeWriteEnd: Int32 = -1
nonisolated(unsafe) private var pipeReadEnd: Int32 = -1

/// Runs in signal context, where only async-signal-safe functions are allowed (`signal-safety(7)`).
private func handleSignal(_ number: Int32) {
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
    unsafe _ = write(pipeWriteEnd, &byte, 1)
    errno = saved
}
