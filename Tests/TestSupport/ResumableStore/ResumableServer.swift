package import WaybillCore

/// A server for resumable uploads on 127.0.0.1 that judges clients. It supports tus 1.0.0 and
/// draft-ietf-httpbis-resumable-upload with interop versions 8 and 6, applies their rules strictly, records requests,
/// and fails as scripted.
///
/// ```swift
/// let server = try ResumableServer(.draft8) { $0.limits.maxAppend = 1_000 }
/// server.script(.on(.append, 2, .cut(afterBytes: 500, keeping: .first(200), closing: .reset)))
/// // … upload to server.url("/form") …
/// #expect(server.applicationRuns.map(\.bytes) == [form])
/// ```
///
/// Each path outside `/uploads/` creates uploads. The application receives each whole representation exactly once:
/// after the request that completes the upload (draft), when the offset reaches the length (tus), or after an ordinary
/// upload.
package final class ResumableServer: Sendable {
    private let core: Core
    private let server: LoopbackServer

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - dialects: The supported protocols.
    ///   - connections: The handling of the first connections; later ones are served.
    ///   - receiveBuffer: `SO_RCVBUF` of each connection; see ``LoopbackServer``.
    ///   - configure: Changes the settings.
    /// - Throws: ``SystemCallFailure`` if no port is available.
    package init(
        _ dialects: Dialect = .draft8, connections: [LoopbackServer.Arrival] = [], receiveBuffer: ByteCount? = nil,
        configure: (inout Settings) -> Void = { _ in }
    ) throws {
        var settings = Settings()
        settings.dialects = dialects
        configure(&settings)
        let core = Core(settings)
        self.core = core
        server = try LoopbackServer(
            otherwise: Behaviour([.decide { request in core.begin(request) }]), connections: connections,
            receiveBuffer: receiveBuffer, keepsBodies: false)
    }

    /// Closes all connections and waits for the threads.
    package func stop() { server.stop() }

    /// The port.
    package var port: Int { server.port }

    /// Returns the URL of a path, which starts with a slash.
    package func url(_ path: String = "/files", host: String = "127.0.0.1") -> String {
        server.url(path, host: host)
    }

    // MARK: Configuration

    /// The settings for later requests.
    package var settings: Settings { core.settings.withLock { $0 } }

    /// Changes the settings for later requests.
    package func configure(_ change: (inout Settings) -> Void) {
        var settings = settings
        change(&settings)
        core.settings.withLock { [settings] in $0 = settings }
    }

    /// Sets the response of the application to all later representations. The default is `200` with the text `stored`.
    package func respond(with response: ScriptedResponse) { respond { _ in response } }

    /// Sets the application. The closure is called on a thread of the server.
    package func respond(_ application: @escaping @Sendable (Run) -> ScriptedResponse) {
        core.application.withLock { $0 = application }
    }

    // MARK: Faults

    /// Adds rules.
    package func script(_ rules: Rule...) { core.state.update { $0.rules += rules } }

    /// Removes all rules.
    package func clearScript() { core.state.update { $0.rules = [] } }

    /// Closes the connection of the next request before its head is read.
    package func closeDuringNextRequest(_ closing: Behaviour.Closing = .abandon) {
        server.script(.closeDuringRequest(closing))
    }

    /// Makes an upload inaccessible, as if it had expired. Later requests fail with the status, `404` or `410`.
    package func forget(_ upload: String, status: Int = 404) {
        core.state.update { $0.forget(upload, status: status) }
    }

    /// Makes all uploads inaccessible, as if the server had restarted without its state.
    package func forgetUploads() {
        core.state.update { state in
            for upload in state.uploads { state.forget(upload.id, status: 404) }
        }
    }

    /// Locks an upload for the given number of requests, which fail with `423`.
    package func lock(_ upload: String, forRequests count: Int) {
        core.state.update { state in
            if let index = state.index(of: upload) { state.uploads[index].locks = count }
        }
    }

    /// Sets the offset back, as a server that loses data.
    package func loseBytes(of upload: String, to offset: Int) {
        core.state.update { state in
            guard let index = state.index(of: upload) else { return }
            state.uploads[index].content.truncate(to: offset)
        }
    }

    /// Appends bytes, as a server that receives them from another source.
    package func gainBytes(of upload: String, _ bytes: [UInt8]) {
        core.state.update { state in
            guard let index = state.index(of: upload) else { return }
            state.uploads[index].content.append(bytes[...])
            if state.uploads[index].dialect == .tus { state.completeIfWhole(index) }
        }
    }

    // MARK: Records

    /// The recorded state so far.
    package var state: State { core.state.value }

    /// The requests so far, in order.
    package var requests: [Request] { state.requests }

    /// The uploads so far, in the order of their creation.
    package var uploads: [Upload] { state.uploads }

    /// The representations handed to the application so far, in order.
    package var applicationRuns: [Run] { state.applicationRuns }

    /// Waits until the state satisfies the condition.
    @discardableResult
    package func waitUntil(_ isMet: @escaping @Sendable (State) -> Bool) async throws -> State {
        try await core.state.waitUntil(isMet)
    }

    /// Performs an action once when the state satisfies the condition, before the server continues.
    package func once(_ isMet: @escaping @Sendable (State) -> Bool, _ action: @escaping @Sendable () -> Void) {
        core.state.once(isMet, action)
    }

    /// Waits until no request is in flight.
    @discardableResult
    package func settled() async throws -> State { try await waitUntil { $0.inFlight == 0 } }

    /// Violations of RFC 9112; empty with a conforming client.
    package var violations: [String] { server.state.violations }

    /// The connections so far.
    package var connections: [ConnectionRecord] { server.state.connections }
}
