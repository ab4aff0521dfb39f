import WaybillCore

/// What a transfer does once in each call of `curl_multi_perform`.
extension CurlTransfer {
    /// Whether libcurl may use HTTP/2, where the kernel's counts are not those of a single transfer.
    var mayUseHTTP2: Bool { request.options.httpVersion == .http2 }

    /// Sends what was held back: nothing more follows in this round.
    func letSegmentsGo() { probe?.holdSegments(false) }

    /// libcurl reads the response to CONNECT in a loop of its own for as long as bytes are there, and calls here for each. A
    /// proxy that never stops sending would keep the engine from all other transfers, limits and cancels.
    func mayGoOnReadingTunnel() -> Bool {
        guard connection == nil, let engine else { return true }
        let now = ContinuousClock.now
        guard let loop = tunnelLoop, loop.round == engine.round else {
            tunnelLoop = (engine.round, now)
            return true
        }
        guard now - loop.began > Self.longestTunnelLoop else { return true }
        ownFailure = (.proxyFailed, "The proxy does not end its response to CONNECT. Check the proxy.", nil)
        return false
    }

    /// Longer than any response to CONNECT takes that is there already.
    private static let longestTunnelLoop = Duration.milliseconds(500)
}
