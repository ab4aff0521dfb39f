import Dispatch
import Glibc

/// Tells of `SIGINT` and `SIGTERM`, which end the program no more once the value is made.
public final class StopSignals {
    private let arrivals: AsyncStream<Int32>
    private let sources: [any DispatchSourceSignal]

    /// From now on both are told instead of ending the program.
    public init() {
        let (arrivals, continuation) = AsyncStream.makeStream(of: Int32.self)
        self.arrivals = arrivals
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(number) }
            source.resume()
            return source
        }
    }

    /// Waits for the first.
    public func wait() async {
        for await _ in arrivals { return }
    }
}
