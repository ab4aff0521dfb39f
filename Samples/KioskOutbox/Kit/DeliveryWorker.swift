public import Waybill
public import WaybillOutbox

/// The configuration of a worker that delivers what a kiosk has enqueued.
public struct DeliveryWorker: Sendable {
    /// The token of the backend. The queue contains only its name.
    public var token: Secret
    /// The limit in bytes per second; `nil` for no limit.
    public var rateLimit: ByteCount?
    /// Called with each result, after it was recorded.
    public var onResult: @Sendable (OutboxResult) async throws -> Void

    /// Creates the configuration of a worker.
    public init(
        token: Secret, rateLimit: ByteCount? = nil, onResult: @escaping @Sendable (OutboxResult) async throws -> Void
    ) {
        self.token = token
        self.rateLimit = rateLimit
        self.onResult = onResult
    }

    /// Opens an outbox for delivery.
    public func open(_ path: String) async throws(OutboxError) -> Outbox {
        var configuration = Outbox.Configuration()
        let token = token
        configuration.credentials = CredentialTable { name in name == "backend" ? token : nil }
        configuration.onResult = onResult
        // One upload at a time, so that the output is easy to follow.
        configuration.maximumConcurrentDeliveries = 1
        return try await Outbox(at: path, configuration: configuration)
    }

    /// Returns the session for uploads. An upload succeeds if the envelope of the response has a success code.
    public func makeSession() -> UploadSession {
        var configuration = UploadSession.Configuration()
        configuration.options.transfer.rateLimit = rateLimit
        configuration.interceptors = [JSONEnvelope(code: "RETCODE", message: "RETMSG", successCodes: ["000000"])]
        return UploadSession(configuration: configuration)
    }
}
