import FlyingFox
import FlyingSocks
import Foundation

/// The journal as server-sent events (WHATWG HTML, section 9.2): `all` first, then `some` for each set of changes.
struct EventStream: AsyncBufferedSequence {
    typealias Element = UInt8

    let journal: Journal
    let watch: Journal.Watch

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(journal: journal, watch: watch) }

    struct AsyncIterator: AsyncBufferedIteratorProtocol {
        private let journal: Journal
        private let id: Int
        private var notifications: AsyncStream<Void>.Iterator
        private var didSendAll = false

        init(journal: Journal, watch: Journal.Watch) {
            self.journal = journal
            id = watch.id
            notifications = watch.notifications.makeAsyncIterator()
        }

        mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

        mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? {
            guard didSendAll else {
                didSendAll = true
                return try EventStream.event("all", await journal.all)
            }
            guard await notifications.next(isolation: #isolation) != nil else { return nil }
            let changes = await journal.changes(for: id)
            // A comment as heartbeat: writing it fails if the client has disconnected.
            return changes.isEmpty ? Array(":\n\n".utf8) : try EventStream.event("some", changes)
        }
    }

    /// One event. JSON escapes line ends, so the data is always a single line.
    static func event(_ name: String, _ arrivals: [Arrival]) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array("retry: 1000\nevent: \(name)\ndata: ".utf8) + (try encoder.encode(arrivals)) + Array("\n\n".utf8)
    }
}
