import Dispatch
import Glibc

/// Waits for `SIGINT` or `SIGTERM`, whose default action is disabled when the value is created.
public final class StopSignals {
    private let signals: AsyncStream<Int32>
    private let sources: [any DispatchSourceSignal]

    /// Starts handling both signals.
    public init() {
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        self.signals = signals
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(number) }
            source.resume()
            return source
        }
    }

    /// Waits for the first signal.
    public func wait() async {
        for await _ in signals { return }
    }
}
