import BenchDriver
import Waybill

/// Sends the form of all drivers with the public API.
enum Sending {
    static func form(_ path: String) -> MultipartForm {
        var form = MultipartForm()
        for field in DriverForm.fields { form.append(.text(field.name, field.value)) }
        form.append(.file("FILE", path: path))
        return form
    }

    /// The default configuration with a slot for each concurrent form.
    private static func session(
        slots: Int, authority: String?, httpVersion: TransferOptions.HTTPVersion = .http1
    ) -> UploadSession {
        var configuration = UploadSession.Configuration()
        configuration.maximumConcurrentTransfers = slots
        configuration.maximumConcurrentTransfersPerHost = slots
        configuration.options.transfer.tls.certificateAuthorities = authority
        configuration.options.transfer.httpVersion = httpVersion
        return UploadSession(configuration: configuration)
    }

    static func run(
        _ order: Order, isWatched: Bool, isOnExecutor: Bool, httpVersion: TransferOptions.HTTPVersion
    ) async throws {
        let session = session(slots: order.concurrency, authority: order.authority, httpVersion: httpVersion)
        if isOnExecutor {
            try await withTaskExecutorPreference(session.executor) {
                try await order.run { try await session.upload(form(order.path), to: order.url).text }
            }
        } else if isWatched {
            try await order.run {
                try await session.upload(form(order.path), to: order.url) { progress in
                    precondition(progress.acknowledged <= progress.sent)
                }.text
            }
        } else {
            try await order.run { try await session.upload(form(order.path), to: order.url).text }
        }
    }

    /// Prints a line with the time and the acknowledged bytes of each snapshot.
    static func sample(_ url: String, path: String, authority: String?) async throws {
        let response = try await session(slots: 1, authority: authority).upload(form(path), to: url) { progress in
            print(Order.nanoseconds, progress.acknowledged)
        }
        guard response.status == .ok else { throw UnexpectedResponse(text: response.text) }
    }
}
