import Foundation

/// What a page is told, read by curl(1) as it comes.
final class EventReader: Sendable {
    /// One upload, as the stream tells of it.
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

    /// An event: its name and what it brings.
    struct Event: Sendable {
        let name: String
        let arrivals: [Arrival]
        let text: String
    }

    private let lines: Lines

    /// Opens a stream.
    init(_ url: String) throws { lines = try Lines("curl", ["-sN", url]) }

    /// Reads on until an event is the last that was waited for; gives all that were read.
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

    /// Reads on until an upload is in a state; gives all events that were read.
    func until(_ state: String) async -> [Event] {
        await read { event in event.arrivals.contains { $0.state == state } }
    }

    /// Reads the one event that comes first.
    func first() async -> Event? { await read { _ in true }.last }

    /// Reads to the end that the server makes.
    func drain() async { _ = await read { _ in false } }

    func stop() { lines.stop() }
}
