internal import WaybillCore

/// Qiniu as far as uploads need it, on 127.0.0.1: it checks tokens, checksums and scopes by the written rules, stores, answers
/// in the service's words, counts, and goes wrong as it is told.
///
/// ```swift
/// let store = try QiniuStore()
/// store.fail(.callbackFailed, on: .form)
/// // … upload to store.url(), as ak/sk, into any bucket …
/// #expect(store.object("cards/front.jpg")?.content.size == 102_400)
/// ```
package final class QiniuStore: Sendable {
    package let settings: QiniuStoreSettings
    private let core: QiniuStoreCore
    private let servers: [LoopbackServer]

    /// Starts a store.
    ///
    /// - Parameters:
    ///   - settings: What it is and knows.
    ///   - hosts: How many hosts it has; all of them lead to the same objects.
    /// - Throws: ``SystemCallFailure`` when no port can be had.
    package init(_ settings: QiniuStoreSettings = QiniuStoreSettings(), hosts: Int = 1) throws {
        self.settings = settings
        let core = QiniuStoreCore(settings)
        self.core = core
        servers = try (0..<hosts).map { host in
            try LoopbackServer(
                otherwise: Behaviour([.decide { request in core.begin(request, host: host) }]), keepsBodies: false)
        }
        core.ports.withLock { [servers] in $0 = servers.map(\.port) }
    }

    /// Closes what is open and waits for the threads.
    package func stop() { for server in servers { server.stop() } }

    /// `http://127.0.0.1:port` of a host.
    package func url(_ host: Int = 0) -> String { "http://127.0.0.1:\(servers[host].port)" }
    /// `127.0.0.1:port` of a host.
    package func name(_ host: Int = 0) -> String { "127.0.0.1:\(servers[host].port)" }
    package var port: Int { servers[0].port }

    /// Lets a fault befall requests.
    ///
    /// - Parameters:
    ///   - fault: What goes wrong.
    ///   - operations: All of them when none is named.
    ///   - part: Only of this part.
    ///   - host: Only at this host.
    ///   - times: How often; `nil` is for ever.
    package func fail(
        _ fault: QiniuFault, on operations: QiniuStoreOperation..., part: Int? = nil, host: Int? = nil, times: Int? = 1
    ) {
        let rule = QiniuFaultRule(
            fault: fault, operations: Set(operations.isEmpty ? QiniuStoreOperation.allCases : operations), part: part,
            host: host, times: times)
        core.state.update { $0.faults.append(rule) }
    }

    /// Takes back all faults.
    package func heal() { core.state.update { $0.faults = [] } }

    /// Holds every request at a gate before it is answered, from now on.
    package func hold(at gate: Gate?) { core.gate.withLock { $0 = gate } }

    /// Does something once, when so many bytes of bodies have come in all; at once if they have. Before anything more is read.
    package func whenTaken(bytes mark: Int, _ action: @escaping @Sendable () -> Void) {
        once({ $0.bodyBytes >= mark }, action)
    }

    /// Does something once, when the store has what is asked for, before it goes on.
    package func once(_ isMet: @escaping @Sendable (QiniuState) -> Bool, _ action: @escaping @Sendable () -> Void) {
        core.state.once(isMet, action)
    }

    /// What it has and has seen until now.
    package var state: QiniuState { core.state.value }

    /// An object.
    package func object(_ key: String, in bucket: String = "photos") -> QiniuStoredObject? {
        state.object(key, in: bucket)
    }

    /// Waits until the store has what is asked for.
    @discardableResult
    package func waitUntil(_ isMet: @escaping @Sendable (QiniuState) -> Bool) async throws -> QiniuState {
        try await core.state.waitUntil(isMet)
    }

    /// Waits until no request is under way: what a client that was killed left behind is over then.
    @discardableResult
    package func settled() async throws -> QiniuState { try await waitUntil { $0.inFlight == 0 } }

    /// Puts an object there, as if somebody else had.
    package func put(_ key: String, _ bytes: [UInt8], in bucket: String = "photos") {
        core.state.update { state in
            var object = QiniuStoredObject()
            object.content = QiniuBytes(of: bytes)
            object.hash = object.content.etag
            object.timesMade = 1
            state.objects[QiniuState.Name(bucket: bucket, key: Array(key.utf8))] = object
        }
    }

    /// Forgets an upload behind the client's back.
    package func forget(_ uploadID: String) { core.state.update { $0.uploads[uploadID] = nil } }

    /// What was against HTTP itself; empty with a well-behaved client.
    package var complaints: [String] { servers.flatMap(\.state.complaints) }
}
