import WaybillCore

/// Work that a transfer does once in each call of `curl_multi_perform`.
extension CurlTransfer {
    /// Whether libcurl may use HTTP/2, where the kernel's counters do not belong to a single transfer.
    var mayUseHTTP2: Bool { request.options.httpVersion == .http2 }

    /// Sends held-back partial segments: nothing more follows in this round.
    func uncork() { probe?.setCorked(false) }

    /// Returns whether libcurl may continue to read the response to CONNECT. It reads in an inner loop as long as bytes
    /// are available and calls this for each. A proxy that never stops sending would otherwise block all other
    /// transfers, limits and cancellations of the engine.
    func mayContinueReadingTunnel() -> Bool {
        guard connection == nil, let engine else { return true }
        let now = ContinuousClock.now
        guard let loop = tunnelLoop, loop.round == engine.round else {
            tunnelLoop = (engine.round, now)
            return true
        }
        guard now - loop.began > Self.maxTunnelLoop else { return true }
        engineFailure = (.proxyFailed, "The proxy's response to CONNECT does not end. Check the proxy.", nil)
        return false
    }

    /// Longer than reading any response to CONNECT that has already arrived.
    private static let maxTunnelLoop = Duration.milliseconds(500)
}
