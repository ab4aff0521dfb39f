import Waybill
import WaybillStores

/// The app: it asks for a ticket and posts with it. There is no secret in it, and nothing that could sign.
public struct App: Sendable {
    private let session = UploadSession()
    private let tickets: String

    /// An app that asks this server for tickets.
    public init(tickets: String) {
        self.tickets = tickets
    }

    /// The ticket of a user.
    public func ticket(for user: String) async throws -> OSSPostForm {
        let answer = try await session.send(UploadRequest(.get, "\(tickets)?user=\(user)"))
        return try OSSPostForm(json: answer.body)
    }

    /// Posts a photo, made to fit into 100 KiB on the way.
    ///
    /// - Returns: The status of the store's answer.
    public func post(photo path: String, to key: String, with ticket: OSSPostForm) async throws -> Int {
        let photo = MultipartPart.image("file", path: path, .maxBytes(.kibibytes(100)))
        let request = try ticket.request(
            key: key, file: photo, additional: [OSSPostForm.Field("Content-Type", "image/jpeg")])
        return try await session.send(request).status.code
    }

    /// Closes the connections.
    public func close() async { await session.close() }
}
