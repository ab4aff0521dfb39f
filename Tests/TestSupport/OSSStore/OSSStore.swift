internal import CTestSupport
internal import WaybillCore

/// The parts of Aliyun OSS that uploads need, on 127.0.0.1. It checks raw targets, dates, tokens and signatures by
/// the published rules, stores objects, responds like the service, counts requests, and fails as scripted.
///
/// ```swift
/// let store = try OSSStore()
/// store.fail(.busy(), on: .uploadPart, times: 2)
/// // … upload to store.endpoint, as ak/sk, region cn-hangzhou, with any bucket …
/// #expect(store.object("cards/front.jpg")?.content.size == 102_400)
/// ```
///
/// Of bodies above the configured size it keeps only the digests, so an object of 200 MiB uses no memory.
package final class OSSStore: Sendable {
    package let settings: OSSStoreSettings
    private let core: OSSStoreCore
    private let server: LoopbackServer

    /// Starts a store.
    ///
    /// - Throws: ``SystemCallFailure`` if no port is available.
    package init(_ settings: OSSStoreSettings = OSSStoreSettings()) throws {
        self.settings = settings
        let core = OSSStoreCore(settings)
        self.core = core
        server = try LoopbackServer(
            otherwise: Behaviour([.decide { request in core.begin(request) }]), keepsBodies: false)
    }

    /// Closes all connections and waits for the threads.
    package func stop() { server.stop() }

    // MARK: Addresses

    package var port: Int { server.port }

    /// The service by its address: the bucket is part of the path.
    package var endpoint: String { "http://127.0.0.1:\(port)\(settings.pathPrefix)" }

    /// The service by a name that resolves to it in programs with `CTestSupport`: the bucket is part of the host.
    package var namedEndpoint: String { "http://oss.loopback.invalid:\(port)\(settings.pathPrefix)" }

    /// Like `namedEndpoint`, for programs that use libcurl without `CTestSupport`.
    package var localEndpoint: String { "http://oss.localhost:\(port)\(settings.pathPrefix)" }

    // MARK: Faults

    /// Applies a fault to requests of these operations (all if none is given) and this part, the given number of
    /// times (`nil` for no limit).
    package func fail(_ fault: OSSFault, on operations: OSSOperation..., part: Int? = nil, times: Int? = 1) {
        let rule = OSSFaultRule(
            fault: fault, operations: Set(operations.isEmpty ? OSSOperation.allCases : operations), part: part,
            times: times)
        core.state.update { $0.faults.append(rule) }
    }

    /// Makes all later requests wait at a gate before the response.
    package func hold(at gate: Gate?) { core.gate.withLock { $0 = gate } }

    /// Sets the deviation of the store's clock.
    package func skew(_ skew: OSSSkew?) { core.state.update { $0.skew = skew } }

    /// Removes all faults and corrects the clock.
    package func clearFaults() {
        core.state.update { state in
            state.faults = []
            state.skew = nil
        }
    }

    /// Performs an action once when the total number of body bytes reaches the mark, or immediately if it has. The
    /// action runs before anything more is read.
    package func onBytesReceived(bytes mark: Int, _ action: @escaping @Sendable () -> Void) {
        once({ $0.bodyBytes >= mark }, action)
    }

    /// Performs an action once when the state satisfies the condition, before the store continues.
    package func once(_ isMet: @escaping @Sendable (OSSState) -> Bool, _ action: @escaping @Sendable () -> Void) {
        core.state.once(isMet, action)
    }

    // MARK: State

    /// The contents and the log so far.
    package var state: OSSState { core.state.value }

    /// Returns an object.
    package func object(_ key: String, in bucket: String = "examplebucket") -> OSSObject? {
        state.object(key, in: bucket)
    }

    /// Waits until the state satisfies the condition.
    @discardableResult
    package func waitUntil(_ isMet: @escaping @Sendable (OSSState) -> Bool) async throws -> OSSState {
        try await core.state.waitUntil(isMet)
    }

    /// Waits until no request is in flight: the requests of a killed client have ended then.
    @discardableResult
    package func settled() async throws -> OSSState { try await waitUntil { $0.inFlight == 0 } }

    /// Stores an object as if another client had.
    package func put(_ key: String, _ bytes: [UInt8], in bucket: String = "examplebucket") {
        core.state.update { state in
            let content = BodyIntake.stored(bytes)
            state.objects[ObjectName(bucket: bucket, key: Array(key.utf8))] = OSSObject(
                content: content, etag: content.md5, timesStored: 1)
        }
    }

    /// Aborts an upload without the client's knowledge.
    package func abort(_ uploadID: String) { core.state.update { $0.uploads[uploadID] = nil } }

    /// Violations of HTTP; empty with a conforming client.
    package var complaints: [String] { server.state.violations }
}
