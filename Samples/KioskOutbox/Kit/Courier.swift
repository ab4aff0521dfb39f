public import Waybill
public import WaybillOutbox

/// The side of the wire: what a worker needs to know to deliver what a kiosk has handed over.
public struct Courier: Sendable {
    /// The token of the backend; the queue holds only its name.
    public var token: Secret
    /// How fast a card may go out.
    public var rateLimit: ByteCount?
    /// Told of each end, after it was written down.
    public var onResult: @Sendable (OutboxResult) async throws -> Void

    /// Describes a worker.
    public init(
        token: Secret, rateLimit: ByteCount? = nil, onResult: @escaping @Sendable (OutboxResult) async throws -> Void
    ) {
        self.token = token
        self.rateLimit = rateLimit
        self.onResult = onResult
    }

    /// Opens an outbox to deliver from it.
    public func open(_ path: String) async throws(OutboxError) -> Outbox {
        var configuration = Outbox.Configuration()
        let token = token
        configuration.credentials = CredentialTable { name in name == "backend" ? token : nil }
        configuration.onResult = onResult
        // One after the other, as a person can follow.
        configuration.slots = 1
        return try await Outbox(at: path, configuration: configuration)
    }

    /// What it sends with: an answer counts when its envelope says so.
    public func makeSession() -> UploadSession {
        var configuration = UploadSession.Configuration()
        configuration.options.transfer.rateLimit = rateLimit
        configuration.interceptors = [JSONEnvelope(code: "RETCODE", message: "RETMSG", successCodes: ["000000"])]
        return UploadSession(configuration: configuration)
    }
}
