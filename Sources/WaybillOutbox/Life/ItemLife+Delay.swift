// The delay of the first attempt.

extension ItemLife {
    /// Lets a new item wait until a time.
    package mutating func wait(until time: Int64) {
        state = .waiting
        notBefore = time
    }

    /// Makes the item ready, or lets it wait for the end of its delay.
    mutating func makeReady(_ now: Int64) {
        if let notBefore, !Self.isDelayOver(notBefore, now) {
            state = .waiting
        } else {
            state = .ready
            notBefore = nil
        }
    }

    /// The time of the next attempt while the item waits.
    package var dueAt: Int64? { state == .waiting ? notBefore ?? runAt : nil }

    /// Whether the delay of an item has ended. Also `true` for a time beyond the longest delay, stored before the clock
    /// was set back.
    package static func isDelayOver(_ time: Int64, _ now: Int64) -> Bool { time <= now || time > now + longestDelay }

    /// The longest possible delay: a year.
    package static let longestDelay: Int64 = 366 * 86_400_000
}
