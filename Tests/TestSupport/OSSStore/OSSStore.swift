internal import CTestSupport
internal import WaybillCore

/// Aliyun OSS as far as uploads need it, on 127.0.0.1: it checks raw targets, dates, tokens and signatures by the written
/// rules, stores, answers in the service's words, counts, and goes wrong as it is told.
///
/// ```swift
/// let store = try OSSStore()
/// store.fail(.busy(), on: .uploadPart, times: 2)
/// // … upload to store.endpoint, as ak/sk, region cn-hangzhou, with any bucket …
/// #expect(store.object("cards/front.jpg")?.content.size == 102_400)
/// ```
///
/// Of bodies that are larger than its settings say, it keeps only the digests, so an object of 200 MiB costs no memory.
package final class OSSStore: Sendable {
    package let settings: OSSStoreSettings
    private let core: OSSStoreCore
    private let server: LoopbackServer

    /// Starts a store.
    ///
    /// - Throws: ``SystemCallFailure`` when no port can be had.
    package init(_ settings: OSSStoreSettings = OSSStoreSettings()) throws {
        self.settings = settings
        let core = OSSStoreCore(settings)
        self.core = core
        server = try LoopbackServer(
            otherwise: Behaviour([.decide { request in core.begin(request) }]), keepsBodies: false)
    }

    /// Closes what is open and waits for the threads.
    package func stop() { server.stop() }

    // MARK: Where it is

    package var port: Int { server.port }

    /// The service by its number: the bucket is in the path then.
    package var endpoint: String { "http://127.0.0.1:\(port)\(settings.pathPrefix)" }

    /// The service by a name that leads here in programs with `CTestSupport`: buckets are in the host.
    package var namedEndpoint: String { "http://oss.loopback.invalid:\(port)\(settings.pathPrefix)" }

    /// The same for programs that use libcurl and nothing of ours.
    package var localEndpoint: String { "http://oss.localhost:\(port)\(settings.pathPrefix)" }

    // MARK: What it does wrong

    /// Lets a fault befall requests: of these operations (none named: of all), of this part, so often (`nil`: for ever).
    package func fail(_ fault: OSSFault, on operations: OSSOperation..., part: Int? = nil, times: Int? = 1) {
        let rule = OSSFaultRule(
            fault: fault, operations: Set(operations.isEmpty ? OSSOperation.allCases : operations), part: part,
            times: times)
        core.state.update { $0.faults.append(rule) }
    }

    /// Holds every request at a gate before it is answered, from now on.
    package func hold(at gate: Gate?) { core.gate.withLock { $0 = gate } }

    /// Sets its clock beside the true one.
    package func skew(_ skew: OSSSkew?) { core.state.update { $0.skew = skew } }

    /// Takes back all faults and puts the clock right.
    package func heal() {
        core.state.update { state in
            state.faults = []
            state.skew = nil
        }
    }

    /// Does something once, when so many bytes of bodies have come in all; at once if they have. Before anything more is read.
    package func whenTaken(bytes mark: Int, _ action: @escaping @Sendable () -> Void) {
        once({ $0.bodyBytes >= mark }, action)
    }

    /// Does something once, when the store has what is asked for, before it goes on.
    package func once(_ isMet: @escaping @Sendable (OSSState) -> Bool, _ action: @escaping @Sendable () -> Void) {
        core.state.once(isMet, action)
    }

    // MARK: What it knows

    /// What it has and has seen until now.
    package var state: OSSState { core.state.value }

    /// An object.
    package func object(_ key: String, in bucket: String = "examplebucket") -> OSSObject? {
        state.object(key, in: bucket)
    }

    /// Waits until the store has what is asked for.
    @discardableResult
    package func waitUntil(_ isMet: @escaping @Sendable (OSSState) -> Bool) async throws -> OSSState {
        try await core.state.waitUntil(isMet)
    }

    /// Waits until no request is under way: what a client that was killed left behind is over then.
    @discardableResult
    package func settled() async throws -> OSSState { try await waitUntil { $0.inFlight == 0 } }

    /// Puts an object there, as if somebody else had.
    package func put(_ key: String, _ bytes: [UInt8], in bucket: String = "examplebucket") {
        core.state.update { state in
            let content = BodyIntake.stored(bytes)
            state.objects[ObjectName(bucket: bucket, key: Array(key.utf8))] = OSSObject(
                content: content, etag: content.md5, timesMade: 1)
        }
    }

    /// Aborts an upload behind the client's back.
    package func abort(_ uploadID: String) { core.state.update { $0.uploads[uploadID] = nil } }

    /// What was against HTTP itself; empty with a well-behaved client.
    package var complaints: [String] { server.state.complaints }
}
