import WaybillCore

/// How fast a client may ask: when the store says that it is too much, all its requests wait, and not only the one that was
/// told.
final class QiniuPace: Sendable {
    private struct State: Sendable {
        /// Counts the waits that were ordered; requests wait until none is left.
        var waiting = 0
    }

    private let clock: any Clock<Duration>
    private let books = Observed(State())

    init(clock: any Clock<Duration>) {
        self.clock = clock
    }

    /// Stands still while somebody was told to slow down. A task that is cancelled goes on at once.
    func wait() async {
        await books.wait { $0.waiting == 0 }
    }

    /// Holds everybody for so long.
    func slowDown(for wait: Duration) async {
        books.update { $0.waiting += 1 }
        try? await clock.sleep(for: wait)
        books.update { $0.waiting -= 1 }
    }

    /// The wait after the n-th refusal, from 1: it doubles from one second, and is half a minute at most.
    static func delay(after refusals: Int) -> Duration {
        Backoff(from: .seconds(1), to: .seconds(30)).time(after: refusals)
    }
}
