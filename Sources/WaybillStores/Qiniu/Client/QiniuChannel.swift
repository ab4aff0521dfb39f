import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore

/// Sends the requests of one object. Each request is sent to the present host with a valid token, and ``QiniuRetry``
/// decides what follows its response.
final class QiniuChannel: Sendable {
    /// The parameters with which a request is created.
    struct Call: Sendable {
        /// The base URL: `https://host`.
        var base: String
        var token: QiniuUploadToken
    }

    private struct State: Sendable {
        var token: QiniuUploadToken
        var route: QiniuRoute
        var hasRefreshedRoute = false
    }

    let client: QiniuClient
    let run: ObjectRun
    private let request: QiniuTokens.Request
    private let options: QiniuPutOptions
    private let state: Locked<State>

    /// Gets a token and resolves the upload hosts.
    init(
        client: QiniuClient, run: ObjectRun, key: String?, size: Int64, options: QiniuPutOptions
    ) async throws(StoreError) {
        self.client = client
        self.run = run
        self.options = options
        request = QiniuTokens.Request(key: key, size: size, reason: .begin)
        let token = try await client.tokens.token(for: request, at: client.clock.date)
        let route = try await Self.route(client, token)
        state = Locked(State(token: token, route: route))
    }

    /// The present token.
    var token: QiniuUploadToken { state.withLock { $0.token } }
    /// The present host.
    var host: String { state.withLock { $0.route.host ?? "" } }

    /// Throws if the token is for another bucket.
    ///
    /// - Throws: ``StoreError/Code/uploadTokenDoesNotCover``.
    func check(bucket: String) throws(StoreError) {
        guard token.scope.bucket != bucket else { return }
        throw StoreError(
            .uploadTokenDoesNotCover,
            "The upload token is for the bucket \(StoreError.shown(token.scope.bucket)), but the upload is for "
                + "\(StoreError.shown(bucket)). Use an account of that bucket.")
    }

    /// Restricts further requests to the present region.
    func pin() { state.withLock { $0.route.pin() } }

    /// Switches to the region of a host. Returns `false` if the host is unknown.
    func choose(_ host: String) -> Bool { state.withLock { $0.route.choose(host) } }

    /// Gets a fresh token for completing the object.
    func renewForCompletion() async throws(StoreError) {
        guard client.tokens.isRenewable else { return }
        try await renew(.complete)
    }

    /// Sends a request until it succeeds or no retry is left.
    ///
    /// - Parameters:
    ///   - operation: The type of the request, for the retry decision.
    ///   - size: The number of object bytes in the request, for progress; `nil` for none.
    ///   - isRepeatable: Whether repeating the request is harmless even if the first one was applied.
    ///   - make: Creates the request.
    /// - Returns: The response, and the host that sent it.
    /// - Throws: ``StoreError``: the error of the last host, or the reason why there is no token.
    func send(
        _ operation: QiniuRetry.Operation, size: Int64? = nil, isRepeatable: Bool = true,
        _ make: (Call) throws(StoreError) -> UploadRequest
    ) async throws(StoreError) -> (response: UploadResponse, host: String) {
        var hasRenewed = false
        var rejections = 0
        while true {
            await client.throttle.wait()
            let (host, token) = try await current()
            var request = try make(Call(base: base(of: host), token: token))
            request.options = requestOptions(operation)
            let result = await Result { [request] () async throws(UploadError) in
                try await run.send(request, in: client.session, size: size)
            }
            let facts = QiniuResponseParser.facts(of: result)
            let error = QiniuResponseParser.error(of: result, operation, host: host)
            switch QiniuRetry.step(after: facts, of: operation, isRepeatable: isRepeatable) {
            case .accept:
                guard case .success(let response) = result else { throw error }
                return (response, host)
            case .nextHost:
                guard state.withLock({ $0.route.advance(from: host) }) else { throw error }
            case .refreshRegions:
                guard try await refreshRoute(operation) else { throw error }
            case .freshToken:
                guard client.tokens.isRenewable, !hasRenewed else { throw error }
                hasRenewed = true
                if let time = QiniuRetry.storeTime(after: facts) {
                    client.clock.correct(to: time.timeIntervalSince(client.clock.local))
                }
                try await renew(.replace)
            case .slowDown:
                rejections += 1
                guard rejections <= client.configuration.maximumThrottleRetries, !Task.isCancelled else { throw error }
                await client.throttle.slowDown(for: QiniuThrottle.delay(after: rejections))
            case .fail, .stored, .restart: throw error
            }
        }
    }

    private func current() async throws(StoreError) -> (host: String, token: QiniuUploadToken) {
        if token.deadline <= client.clock.date {
            guard client.tokens.isRenewable else {
                throw StoreError(
                    .uploadTokenExpired,
                    "The upload token expired during the upload. Use a token provider, or a later deadline.")
            }
            try await renew(.replace)
        }
        return try state.withLock { state throws(StoreError) in
            guard let host = state.route.host else {
                throw StoreError(.regionUnknown, "No upload host is available. Specify at least one host.")
            }
            return (host, state.token)
        }
    }

    private func renew(_ reason: QiniuTokens.Reason) async throws(StoreError) {
        var request = request
        request.reason = reason
        let fresh = try await client.tokens.token(for: request, at: client.clock.date)
        state.withLock { $0.token = fresh }
    }

    /// Resolves the upload hosts again, after a response that the bucket is in another region.
    ///
    /// - Returns: Whether that succeeded. It is tried once.
    private func refreshRoute(_ operation: QiniuRetry.Operation) async throws(StoreError) -> Bool {
        guard let regionCache = client.regionCache else { return false }
        let token = token
        await regionCache.forget(QiniuRegionCache.Key(accessKey: token.accessKey, bucket: token.scope.bucket))
        // An upload in parts can't move to another region.
        guard operation == .form || operation == .begin else { return false }
        let isFirst = state.withLock { state in
            defer { state.hasRefreshedRoute = true }
            return !state.hasRefreshedRoute
        }
        guard isFirst else { return false }
        let route = try await Self.route(client, token)
        state.withLock { $0.route = route }
        return true
    }

    private static func route(_ client: QiniuClient, _ token: QiniuUploadToken) async throws(StoreError) -> QiniuRoute {
        switch client.configuration.hosts {
        case .fixed(let hosts): return QiniuRoute([hosts])
        case .regions(let regions): return QiniuRoute(regions.map { (region: QiniuRegion) in region.uploadHosts })
        case .queried:
            guard let regionCache = client.regionCache else { return QiniuRoute([]) }
            let key = QiniuRegionCache.Key(accessKey: token.accessKey, bucket: token.scope.bucket)
            let response = try await regionCache.response(for: key)
            return QiniuRoute(response.regions.map(\.uploadHosts))
        }
    }

    func base(of host: String) -> String {
        guard !host.contains("://") else { return host.hasSuffix("/") ? String(host.dropLast()) : host }
        return "\(client.configuration.usesTLS ? "https" : "http")://\(host)"
    }

    private func requestOptions(_ operation: QiniuRetry.Operation) -> UploadOptions {
        var result = QiniuClient.options(client.configuration, operation)
        result.priority = options.priority
        result.tags = options.tags
        result.group = options.group
        result.secretFields = [.authorization]
        return result
    }
}
