import HTTPTypes
import WaybillCore

/// The configuration of a session behind one reference, because a copy of it retains a dozen objects, and what is
/// derived from it.
final class SessionSettings: Sendable {
    let configuration: UploadSession.Configuration
    /// The field with the configured user agent; `nil` without one, or if its value is invalid.
    let userAgent: HTTPField?
    /// The last location and its target. Most uploads of a session have the same location.
    private let lastTarget = Locked<(location: String, url: String, target: RequestTarget)?>(nil)

    init(_ configuration: UploadSession.Configuration) {
        self.configuration = configuration
        userAgent = configuration.userAgent.flatMap { agent in
            HTTPField.isValidValue(agent) ? HTTPField(name: .userAgent, value: agent) : nil
        }
    }

    /// Returns the absolute URL of a location, and its target.
    ///
    /// - Throws: ``UploadError/Code/invalidURL``.
    func target(of location: String) throws(UploadError) -> (url: String, target: RequestTarget) {
        // A base URL of the caller's type may change between calls.
        let isCached = configuration.baseURL == nil
        if isCached, let last = lastTarget.withLock({ $0 }), last.location == location,
            last.location.utf8.count == location.utf8.count
        {
            return (last.url, last.target)
        }
        let url = try URLText.absolute(location, base: configuration.baseURL?.uploadURL)
        let target = try RequestTarget(url)
        // Equal strings can have different bytes, but not if one is ASCII and both have the same length.
        if isCached, location.utf8.allSatisfy({ $0 < 0x80 }) { lastTarget.withLock { $0 = (location, url, target) } }
        return (url, target)
    }
}
