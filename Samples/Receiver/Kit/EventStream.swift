import FlyingFox
import FlyingSocks
import Foundation

/// The journal as server-sent events (WHATWG HTML, section 9.2): `all` first, then `some` for each piece of news.
struct EventStream: AsyncBufferedSequence {
    typealias Element = UInt8

    let journal: Journal
    let watch: Journal.Watch

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(journal: journal, watch: watch) }

    struct AsyncIterator: AsyncBufferedIteratorProtocol {
        private let journal: Journal
        private let id: Int
        private var wakes: AsyncStream<Void>.Iterator
        private var isGreeted = false

        init(journal: Journal, watch: Journal.Watch) {
            self.journal = journal
            id = watch.id
            wakes = watch.wakes.makeAsyncIterator()
        }

        mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

        mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? {
            guard isGreeted else {
                isGreeted = true
                return try EventStream.event("all", await journal.all)
            }
            guard await wakes.next(isolation: #isolation) != nil else { return nil }
            let news = await journal.news(for: id)
            // A comment: it says nothing, and can't be written to somebody who is gone.
            return news.isEmpty ? Array(":\n\n".utf8) : try EventStream.event("some", news)
        }
    }

    /// One event. JSON escapes line ends, so the data is a single line whatever a client has sent.
    static func event(_ name: String, _ arrivals: [Arrival]) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array("retry: 1000\nevent: \(name)\ndata: ".utf8) + (try encoder.encode(arrivals)) + Array("\n\n".utf8)
    }
}
