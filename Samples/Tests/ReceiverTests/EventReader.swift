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

    let events: AsyncStream<Event>
    private let process: Process

    /// Opens a stream.
    init(_ url: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["curl", "-sN", url]
        let pipe = Pipe()
        process.standardOutput = pipe
        self.process = process
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        self.events = events
        try process.run()
        Thread.detachNewThread {
            var bytes = Data()
            var name = ""
            while case let more = pipe.fileHandleForReading.availableData, !more.isEmpty {
                bytes += more
                while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                    let line = String(decoding: bytes[..<end], as: UTF8.self)
                    bytes = Data(bytes[(end + 1)...])
                    if line.hasPrefix("event: ") { name = String(line.dropFirst(7)) }
                    guard line.hasPrefix("data: ") else { continue }
                    let text = String(line.dropFirst(6))
                    let arrivals = try? JSONDecoder().decode([Arrival].self, from: Data(text.utf8))
                    continuation.yield(Event(name: name, arrivals: arrivals ?? [], text: text))
                }
            }
            process.waitUntilExit()
            continuation.finish()
        }
    }

    /// Reads on until an upload is in a state; gives all events that were read.
    func until(_ state: String) async -> [Event] {
        var read: [Event] = []
        for await event in events {
            read.append(event)
            if event.arrivals.contains(where: { $0.state == state }) { break }
        }
        return read
    }

    /// Reads the one event that comes first.
    func first() async -> Event? { await events.first { _ in true } }

    /// Reads to the end that the server makes.
    func drain() async { for await _ in events {} }

    func stop() { kill(process) }
}
