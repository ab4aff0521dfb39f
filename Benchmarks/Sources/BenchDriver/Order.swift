import Glibc

/// The arguments of a driver: `URL FILE COUNT AT_ONCE [AUTHORITY]`.
///
/// Each driver, in any language, takes these arguments and sends `COUNT` forms with the fields of ``DriverForm`` and
/// the file, `AT_ONCE` of them concurrently. It prints one line: the number of responses, the sum of the byte counts in
/// them, the median and the 99th percentile of the time per form in milliseconds, and the total time in seconds,
/// without the start of the program.
package struct Order: Sendable {
    package var url: String
    package var path: String
    package var count: Int
    package var concurrency: Int
    /// A PEM file with the authority of the server's certificate.
    package var authority: String?

    package init?(_ words: [String]) {
        guard words.count == 4 || words.count == 5, let count = Int(words[2]), let concurrency = Int(words[3]),
            count > 0, concurrency > 0
        else { return nil }
        url = words[0]
        path = words[1]
        self.count = count
        self.concurrency = concurrency
        authority = words.count == 5 ? words[4] : nil
    }

    /// Calls `send` once per form, from concurrent tasks, and prints the line of results.
    ///
    /// - Parameter send: Sends one form and returns the text of the response.
    /// - Throws: An error of `send`, or ``UnexpectedResponse``.
    package func run(_ send: @escaping @Sendable () async throws -> String) async throws {
        let begun = Self.nanoseconds
        let results = try await withThrowingTaskGroup(of: Share.self) { group in
            for worker in 0..<min(concurrency, count) {
                let share = count / concurrency + (worker < count % concurrency ? 1 : 0)
                group.addTask { try await Self.work(share, send) }
            }
            var all = Share()
            for try await share in group {
                all.bytes += share.bytes
                all.latencies += share.latencies
            }
            return all
        }
        let elapsed = Self.nanoseconds - begun
        let sorted = results.latencies.sorted()
        func milliseconds(_ share: Int) -> Double { Double(sorted[(sorted.count - 1) * share / 100] / 1_000) / 1_000 }
        print(sorted.count, results.bytes, milliseconds(50), milliseconds(99), Double(elapsed) / 1e9)
    }

    private struct Share: Sendable {
        var bytes = 0
        var latencies: [Int64] = []
    }

    private static func work(_ count: Int, _ send: () async throws -> String) async throws -> Share {
        var share = Share()
        share.latencies.reserveCapacity(count)
        for _ in 0..<count {
            let started = nanoseconds
            let response = try await send()
            share.latencies.append(nanoseconds - started)
            guard let bytes = Int(response) else { throw UnexpectedResponse(text: response) }
            share.bytes += bytes
        }
        return share
    }

    /// The time of the clock that all processes share.
    package static var nanoseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// A response of the server that is not a number.
package struct UnexpectedResponse: Error {
    package var text: String

    package init(text: String) { self.text = text }
}
