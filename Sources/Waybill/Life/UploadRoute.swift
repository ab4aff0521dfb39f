import HTTPTypes
import WaybillCore

/// The route of an upload through redirects: its current hop, and the decision on each response.
package struct UploadRoute: Sendable {
    /// A request target.
    package struct Hop: Sendable, Hashable {
        package var method: HTTPRequest.Method
        package var url: String
        /// The host and port, as used by the queue.
        package var host: String
        /// Whether the body of the upload is sent.
        package var sendsBody: Bool
        /// Whether the credentials are sent.
        package var sendsCredentials = true

        /// Whether a second request has no further effect.
        package var isIdempotent: Bool { method.isIdempotent }
    }

    enum Decision: Sendable {
        /// The response is not a redirect, or is not to be followed.
        case none
        /// The policy follows no redirects. The message contains the address.
        case ignore(String)
        case follow(Hop)
        case refuse(UploadError.Code, String)
    }

    package private(set) var hop: Hop
    package private(set) var redirects: [UploadRedirect] = []
    private let policy: RedirectPolicy
    /// The hops so far, in order. URLs are compared only on a redirect, which most uploads never receive.
    private var visited: [Hop]

    package init(_ hop: Hop, policy: RedirectPolicy) {
        self.hop = hop
        self.policy = policy
        visited = [hop]
    }

    /// Returns the decision on a response.
    func decision(after head: HTTPResponse, isReplayable: Bool) -> Decision {
        let status = head.status.code
        guard Self.statuses.contains(status) else { return .none }
        guard let location = head.headerFields[.location], !location.isEmpty else {
            guard policy.follows else { return .none }
            return .refuse(
                .redirectRefused,
                "The server responded with \(status) without a Location field. Correct the server or the URL.")
        }
        let prefix = "The server responded with \(status), a redirect to \(address(location))"
        guard policy.follows else {
            return .ignore("\(prefix). Redirects are not followed. Send the upload to that URL.")
        }
        guard let method = method(after: status) else {
            return .refuse(
                .redirectWouldDropBody,
                "\(prefix). It is ambiguous whether the body is to be sent again. \(Remedy.chooseRedirects)")
        }
        let next: Hop
        do {
            next = try self.next(location, method: method.method, sendsBody: method.sendsBody)
        } catch {
            return .refuse(.redirectRefused, "\(prefix). The redirect is refused. \(error.message)")
        }
        if visited.contains(where: { Self.loopKey($0) == Self.loopKey(next) }) {
            return .refuse(
                .redirectLoop, "\(prefix), where the upload was already sent. Send it to the final URL.")
        }
        guard redirects.count < policy.maxHops else {
            return .refuse(
                .tooManyRedirects,
                "\(prefix), which exceeds the limit of \(policy.maxHops) redirects. Send the upload to the final URL.")
        }
        if next.sendsBody, !isReplayable {
            return .refuse(
                .bodyNotReplayable,
                "\(prefix), but the body is a stream that can be read only once. Send it to that URL, or from a file.")
        }
        return .follow(next)
    }

    /// Moves to the next hop.
    mutating func follow(_ next: Hop, status: HTTPResponse.Status) {
        hop = next
        visited.append(next)
        redirects.append(
            UploadRedirect(
                status: status, method: next.method, url: next.url, droppedCredentials: !next.sendsCredentials))
    }

    /// The statuses that redirect the request, or refer to its result.
    private static let statuses: Set<Int> = [301, 302, 303, 307, 308]

    /// Returns the method after a redirect (RFC 9110 sections 15.4.2 to 15.4.9); `nil` if the policy does not choose
    /// one.
    private func method(after status: Int) -> (method: HTTPRequest.Method, sendsBody: Bool)? {
        let sameRequest = (hop.method, hop.sendsBody)
        let fetchResponse = (hop.method == .head ? HTTPRequest.Method.head : .get, false)
        switch status {
        case 307, 308: return sameRequest
        case 303: return fetchResponse
        case 301 where !hop.sendsBody, 302 where !hop.sendsBody: return sameRequest
        case 301, 302:
            switch policy.afterBody {
            case .fail: return nil
            case .asGET: return fetchResponse
            case .resend: return sameRequest
            }
        default: return nil
        }
    }

    /// Returns the address of a location for messages: absolute, without user, password and query, and of limited
    /// length.
    private func address(_ location: String) -> String {
        let target = URLReference(location: location).resolved(against: URLReference(hop.url))
        let text = Redaction.url(target.description)
        return text.utf8.count > 1_000 ? "\(text.prefix(1_000))…" : text
    }

    private func next(
        _ location: String, method: HTTPRequest.Method, sendsBody: Bool
    ) throws(UploadError) -> Hop {
        let base = URLReference(hop.url)
        var target = URLReference(location: location).resolved(against: base)
        // Parse before anything is removed: another parser may regard the text before an @ as the host.
        let nextTarget = try RequestTarget(target.description)
        // Credentials in the server's URL are not used, and a fragment is not sent.
        target.userInformation = nil
        target.fragment = nil
        let currentTarget = try RequestTarget(hop.url)
        guard nextTarget.isSecure || !currentTarget.isSecure else {
            throw UploadError(.redirectRefused, "It leads from https to http.", phase: .awaitingResponse)
        }
        let sendsCredentials = hop.sendsCredentials && (currentTarget == nextTarget || policy.keepsCredentials)
        if sendsCredentials, currentTarget == nextTarget { target.userInformation = base.userInformation }
        return Hop(
            method: method, url: target.description, host: nextTarget.hostAndPort, sendsBody: sendsBody,
            sendsCredentials: sendsCredentials)
    }

    private static func loopKey(_ hop: Hop) -> [String] {
        var url = URLReference(hop.url)
        url.fragment = nil
        url.userInformation = nil
        return [hop.method.rawValue, url.description]
    }
}
