import Waybill
import WaybillStores

/// The app: it requests a ticket and posts with it. It contains no key.
public struct App: Sendable {
    private let session = UploadSession()
    private let tickets: String

    /// Creates an app that requests tickets from this server.
    public init(tickets: String) {
        self.tickets = tickets
    }

    /// Requests a ticket for a user.
    public func ticket(for user: String) async throws -> OSSPostForm {
        let response = try await session.send(UploadRequest(.get, "\(tickets)?user=\(user)"))
        return try OSSPostForm(json: response.body)
    }

    /// Posts a photo, compressed to at most 100 KiB.
    ///
    /// - Returns: The HTTP status of the store's response.
    public func post(photo path: String, to key: String, with ticket: OSSPostForm) async throws -> Int {
        let photo = MultipartPart.image("file", path: path, .maxBytes(.kibibytes(100)))
        let request = try ticket.request(
            key: key, file: photo, additional: [OSSPostForm.Field("Content-Type", "image/jpeg")])
        return try await session.send(request).status.code
    }

    /// Closes the connections.
    public func close() async { await session.close() }
}
