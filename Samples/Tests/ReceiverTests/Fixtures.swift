import Foundation
import ReceiverKit

/// Runs a test with a backend with the token `right` and a temporary directory.
func withReceiver(
    sizeLimit: Int = 8 << 20, configure: (inout Receiver.Configuration) -> Void = { _ in },
    _ body: (Receiver, Scratch) async throws -> Void
) async throws {
    let scratch = try Scratch()
    defer { scratch.remove() }
    var configuration = Receiver.Configuration(token: "right", sizeLimit: sizeLimit)
    configure(&configuration)
    let receiver = try await Receiver.start(configuration)
    do {
        try await body(receiver, scratch)
    } catch {
        await receiver.stop()
        throw error
    }
    await receiver.stop()
}

/// Runs a test with the backend in its own process, which is unaffected when this one renders images.
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
        var output = ""
        for await line in program.lines {
            output += line + "\n"
            if line.hasPrefix("page: ") { break }
        }
        guard let match = output.firstMatch(of: /listening on (\S+),.*\npage: (\S+)/) else {
            throw NotStarted(output: output)
        }
        (url, page) = (String(match.1), String(match.2))
    }

    func stop() async { await program.interrupt() }

    struct NotStarted: Error {
        let output: String
    }
}

/// A backend in this or in another process.
protocol Backend {
    var url: String { get }
    var page: String { get }
}

extension Receiver: Backend {}

extension Backend {
    /// `http://127.0.0.1:40213`
    var origin: String { String(url.dropLast("/upload".count)) }
    /// The key in the link of the page, after `#watch=`.
    var key: String { String(page.split(separator: "=").last ?? "") }
    /// The URL of the event stream.
    var events: String { "\(origin)/watch/\(key)/events" }

    /// Returns the URL of a view of a stored file.
    func view(_ view: String, of arrival: EventReader.Arrival, file: Int = 0) -> String {
        "\(origin)/watch/\(key)/arrivals/\(arrival.id)/\(file)/\(view)"
    }

    /// Returns the latest upload in a new event stream.
    func latest() async throws -> EventReader.Arrival? {
        let reader = try EventReader(events)
        defer { reader.stop() }
        return await reader.first()?.arrivals.last
    }

    /// Posts a form with one file, whose name is sent unchanged except `"` and LF.
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
