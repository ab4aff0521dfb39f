internal import Glibc
internal import WaybillCore

/// The parts of Qiniu that uploads need, on 127.0.0.1. It checks tokens, checksums and scopes by the published rules,
/// stores objects, responds like the service, counts requests, and fails as scripted.
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
    ///   - settings: The settings of the store.
    ///   - hosts: The number of its hosts, all of which serve the same objects.
    /// - Throws: ``SystemCallFailure`` if no port is available.
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

    /// Closes all connections and waits for the threads.
    package func stop() { for server in servers { server.stop() } }

    /// Returns `http://127.0.0.1:port` of a host.
    package func url(_ host: Int = 0) -> String { "http://127.0.0.1:\(servers[host].port)" }
    /// Returns `127.0.0.1:port` of a host.
    package func name(_ host: Int = 0) -> String { "127.0.0.1:\(servers[host].port)" }
    package var port: Int { servers[0].port }

    /// Applies a fault to requests.
    ///
    /// - Parameters:
    ///   - fault: The fault.
    ///   - operations: The affected operations; all if none is given.
    ///   - part: Limits the fault to this part.
    ///   - host: Limits the fault to this host.
    ///   - times: The number of times; `nil` for no limit.
    package func fail(
        _ fault: QiniuFault, on operations: QiniuStoreOperation..., part: Int? = nil, host: Int? = nil, times: Int? = 1
    ) {
        let rule = QiniuFaultRule(
            fault: fault, operations: Set(operations.isEmpty ? QiniuStoreOperation.allCases : operations), part: part,
            host: host, times: times)
        core.state.update { $0.faults.append(rule) }
    }

    /// Removes all faults.
    package func clearFaults() { core.state.update { $0.faults = [] } }

    /// Makes all later requests wait at a gate before the response.
    package func hold(at gate: Gate?) { core.gate.withLock { $0 = gate } }

    /// Performs an action once when the total number of body bytes reaches the mark, or immediately if it has. The
    /// action runs before anything more is read.
    package func onBytesReceived(bytes mark: Int, _ action: @escaping @Sendable () -> Void) {
        once({ $0.bodyBytes >= mark }, action)
    }

    /// Performs an action once when the state satisfies the condition, before the store continues.
    package func once(_ isMet: @escaping @Sendable (QiniuState) -> Bool, _ action: @escaping @Sendable () -> Void) {
        core.state.once(isMet, action)
    }

    /// The contents and the log so far.
    package var state: QiniuState { core.state.value }

    /// Returns an object.
    package func object(_ key: String, in bucket: String = "photos") -> QiniuStoredObject? {
        state.object(key, in: bucket)
    }

    /// Waits until the state satisfies the condition.
    @discardableResult
    package func waitUntil(_ isMet: @escaping @Sendable (QiniuState) -> Bool) async throws -> QiniuState {
        try await core.state.waitUntil(isMet)
    }

    /// Waits until no request is in flight: the requests of a killed client have ended then.
    @discardableResult
    package func settled() async throws -> QiniuState { try await waitUntil { $0.inFlight == 0 } }

    /// Stores an object as if another client had.
    package func put(_ key: String, _ bytes: [UInt8], in bucket: String = "photos") {
        core.state.update { state in
            var object = QiniuStoredObject()
            object.content = QiniuBytes(of: bytes)
            object.hash = object.content.etag
            object.timesStored = 1
            state.objects[QiniuState.Name(bucket: bucket, key: Array(key.utf8))] = object
        }
    }

    /// Removes an upload without the client's knowledge.
    package func forget(_ uploadID: String) { core.state.update { $0.uploads[uploadID] = nil } }

    /// Violations of HTTP; empty with a conforming client.
    package var complaints: [String] { servers.flatMap(\.state.violations) }
}

/// The settings of a ``QiniuStore``.
package struct QiniuStoreSettings: Sendable {
    /// Secret keys by access key.
    package var accounts = ["ak": "sk"]
    /// The buckets; `nil` for every name.
    package var buckets: Set<String>?
    /// The host names of uploads that the region service returns, a list for each region; `nil` for one region with
    /// the store's own hosts. `{0}` is replaced by the first of those.
    package var regions: [[String]]?
    /// How long the response of the region service is valid, in seconds.
    package var regionLifetime = 86_400
    /// The minimum size of a part other than the last.
    package var smallestPart = 1 << 20
    /// The maximum number of parts in a response to a list request.
    package var largestPage = 1_000
    /// How long an upload in parts is kept, in seconds.
    package var uploadLifetime = 7 * 86_400
    /// The maximum size of bodies that are kept; larger ones are reduced to their digests.
    package var keepsBodiesUpTo = 64 << 10
    /// The response of the callback server.
    package var callbackResponse = #"{"success":true}"#
    /// The time in seconds since 1970.
    package var now: @Sendable () -> Int = { time(nil) }

    package init() {}
}
