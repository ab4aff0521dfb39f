import Waybill

/// The app: it has no key of the store. It describes the three steps once for a session, and once for an outbox.
public struct App: Sendable {
    private let backend: String

    /// Creates an app for a backend.
    public init(backend: String) {
        self.backend = backend
    }

    /// The positions of the ticket's values in `{"data": {"url": …, "headers": …, "expiresIn": …, "photo": …}}`.
    private var format: TicketFormat {
        var format = TicketFormat(url: "/data/url")
        format.headers = "/data/headers"
        format.validFor = "/data/expiresIn"
        return format
    }

    /// Returns an upload for `UploadSession.run(_:onStep:)`.
    public func upload(photo path: String) -> TicketedUpload {
        let ask = UploadRequest(.post, "\(backend)/tickets", content: .data(Array("{}".utf8)))
        var upload = TicketedUpload(file: path, ask: ask, format: format)
        upload.confirm = { stored in
            var options = UploadOptions()
            options.idempotency = .honoured(window: .seconds(86_400))
            let photo = try stored.ticket.value(at: "/data/photo")
            return UploadRequest(.post, "\(backend)/photos/\(photo)", options: options)
        }
        return upload
    }

    /// Returns an upload for an outbox. Only its description is stored: the ticket is requested when its turn comes.
    public func durableUpload(photo path: String) async throws -> DurableTicketedUpload {
        try await DurableTicketedUpload(
            file: path, ask: DurableRequest(.post, "\(backend)/tickets", body: "{}"), format: format,
            confirm: DurableRequest(
                .post, "\(backend)/photos/{ticket:/data/photo}",
                idempotency: .honoured(window: .seconds(86_400))))
    }
}
