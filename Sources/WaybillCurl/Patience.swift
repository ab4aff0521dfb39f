/// How long the engine stays awake after its last transfer has ended.
///
/// Whoever sends one upload after the other has the next at hand some microseconds after the answer to the last. Not to fall
/// asleep in between spares each of them two system calls on either side and the time in which a thread wakes up, which is
/// a fifth of a small upload. Where the next one takes longer, waiting is for nothing: so after a wait in vain some ends
/// pass without one, at first one, then three, then seven, at most 63.
struct Patience {
    /// Somewhat longer than it takes to hand on an answer and to start an upload.
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
