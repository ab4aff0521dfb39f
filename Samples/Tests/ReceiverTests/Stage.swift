import Foundation
import ReceiverKit

/// A backend with the token `right`, and a directory for files to send, for as long as a test needs them.
func withReceiver(
    sizeLimit: Int = 8 << 20, _ body: (Receiver, Scratch) async throws -> Void
) async throws {
    let scratch = try Scratch()
    defer { scratch.remove() }
    let receiver = try await Receiver.start(.init(token: "right", sizeLimit: sizeLimit))
    do {
        try await body(receiver, scratch)
    } catch {
        await receiver.stop()
        throw error
    }
    await receiver.stop()
}

/// A program of its own, for what has to go on while this one's threads draw pictures.
func withRunningReceiver(_ body: (RunningReceiver, Scratch) async throws -> Void) async throws {
    let scratch = try Scratch()
    defer { scratch.remove() }
    let receiver = try await RunningReceiver()
    do {
        try await body(receiver, scratch)
    } catch {
        await receiver.stop()
        throw error
    }
    await receiver.stop()
}

/// The command `Receiver` with the token `right`.
final class RunningReceiver: Backend {
    let url: String
    let page: String
    private let program: Lines

    static let path = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "Receiver")
        .path

    init() async throws {
        program = try Lines(Self.path, ["--token", "right"])
        var said = ""
        for await line in program.lines {
            said += line + "\n"
            if line.hasPrefix("page: ") { break }
        }
        guard let match = said.firstMatch(of: /listening on (\S+),.*\npage: (\S+)/) else {
            throw NotStarted(said: said)
        }
        (url, page) = (String(match.1), String(match.2))
    }

    func stop() async { await program.interrupt() }

    struct NotStarted: Error {
        let said: String
    }
}

/// A backend, here or in a process of its own.
protocol Backend {
    var url: String { get }
    var page: String { get }
}

extension Receiver: Backend {}

extension Backend {
    /// `http://127.0.0.1:40213`
    var origin: String { String(url.dropLast("/upload".count)) }
    /// What the page's link holds behind `#watch=`.
    var key: String { String(page.split(separator: "=").last ?? "") }
    /// What the page is told by.
    var events: String { "\(origin)/watch/\(key)/events" }

    /// A view of a stored file.
    func view(_ view: String, of arrival: EventReader.Arrival, file: Int = 0) -> String {
        "\(origin)/watch/\(key)/arrivals/\(arrival.id)/\(file)/\(view)"
    }

    /// The latest of what arrived, as a page that is opened now is told.
    func latest() async throws -> EventReader.Arrival? {
        let reader = try EventReader(events)
        defer { reader.stop() }
        return await reader.first()?.arrivals.last
    }

    /// Posts a form of one file whose name is what it says, byte for byte.
    @discardableResult
    func post(
        _ fileName: String, _ bytes: Data, fields: [(String, String)] = [], type: String = "image/jpeg",
        scratch: Scratch
    ) async throws -> Exchange {
        var form = Data()
        for (name, value) in [("TOKEN", "right")] + fields {
            form += Data("--b\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n".utf8)
        }
        let name = fileName.replacing("\"", with: "%22").replacing("\n", with: "%0A")
        form += Data("--b\r\nContent-Disposition: form-data; name=\"FILE\"; filename=\"\(name)\"\r\n".utf8)
        form += Data("Content-Type: \(type)\r\n\r\n".utf8) + bytes + Data("\r\n--b--\r\n".utf8)
        let path = try scratch.write("form-\(UUID().uuidString)", form)
        return try await curl(
            "-H", "Content-Type: multipart/form-data; boundary=b", "-H", "Expect:", "--data-binary", "@\(path)", to: url
        )
    }
}

extension Scratch {
    func path(_ name: String) -> String { "\(path)/\(name)" }
}
