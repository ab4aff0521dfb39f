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

extension Receiver {
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
