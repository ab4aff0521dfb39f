/// Keeps the engine awake for a short time after its last transfer has ended.
///
/// A program that sends uploads one after the other starts the next one some microseconds after the previous response.
/// Staying awake saves each upload two system calls on either side and the wake-up time of a thread, which is a fifth
/// of a small upload. If the next upload takes longer, the wait is wasted: after each unsuccessful wait, a growing
/// number of ends skips it, first one, then three, then seven, at most 63.
struct IdleSpin {
    /// Slightly longer than it takes to deliver a response and to start the next upload.
    private static let longest = Duration.microseconds(100)

    private var passes = 0
    private var left = 0

    mutating func linger(_ inbox: EngineInbox) {
        guard left == 0 else {
            left -= 1
            return
        }
        passes = inbox.linger(for: Self.longest) ? 0 : min(63, passes * 2 + 1)
        left = passes
    }
}
