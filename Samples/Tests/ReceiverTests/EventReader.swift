import Foundation

/// The event stream of the page, read by curl(1).
final class EventReader: Sendable {
    /// An upload in the stream.
    struct Arrival: Decodable, Sendable {
        struct Field: Decodable, Sendable, Equatable {
            let name: String
            let value: String
        }

        struct File: Decodable, Sendable {
            let name: String
            let fileName: String
            let type: String
            let bytes: Int
            let sha256: String
        }

        let id: String
        let agent: String
        let state: String
        let received: Int
        let total: Int?
        let bytesPerSecond: Int
        let fields: [Field]
        let files: [File]
        let message: String
    }

    /// An event of the stream.
    struct Event: Sendable {
        let name: String
        let arrivals: [Arrival]
        let text: String
    }

    private let lines: Lines

    /// Opens a stream.
    init(_ url: String) throws { lines = try Lines("curl", ["-sN", url]) }

    /// Reads until an event satisfies a condition, and returns all events read.
    func read(until isLast: (Event) -> Bool) async -> [Event] {
        var read: [Event] = []
        var name = ""
        for await line in lines.lines {
            if line.hasPrefix("event: ") { name = String(line.dropFirst(7)) }
            guard line.hasPrefix("data: ") else { continue }
            let text = String(line.dropFirst(6))
            let arrivals = try? JSONDecoder().decode([Arrival].self, from: Data(text.utf8))
            let event = Event(name: name, arrivals: arrivals ?? [], text: text)
            read.append(event)
            if isLast(event) { break }
        }
        return read
    }

    /// Reads until an upload is in a state, and returns all events read.
    func until(_ state: String) async -> [Event] {
        await read { event in event.arrivals.contains { $0.state == state } }
    }

    /// Reads the next event.
    func first() async -> Event? { await read { _ in true }.last }

    /// Reads until the server closes the stream.
    func drain() async { _ = await read { _ in false } }

    func stop() { lines.stop() }
}
