import HTTPTypes
import WaybillCore

/// An in-memory store of cookies, which sends each cookie back to its host (RFC 6265).
///
/// ```swift
/// configuration.cookies = CookieJar()      // off unless you ask for it
/// ```
///
/// It is stricter than a browser's, so that no public suffix list is needed: a cookie is sent only to the exact host
/// that set it, and its `Domain` is ignored. `Path`, `Secure`, `Max-Age` and `Expires` are honoured. A jar holds at
/// most 50 cookies per host, 3,000 in total, and 4 KiB each; the oldest ones are removed first. Sessions may share a
/// jar. On a redirect to another host, a `Cookie` field of the request is dropped; cookies of the jar are sent to the
/// hosts that set them.
public final class CookieJar: Sendable {
    private struct Cookie {
        var name: String
        var value: String
        var path: String
        var isSecure: Bool
        /// The expiry on the jar's clock; `nil` for a session cookie, which lives as long as the jar.
        var end: Duration?
    }

    private struct State {
        var cookies: [String: [Cookie]] = [:]
        /// Hosts in the order of their last update, the least recent first.
        var order: [String] = []
    }

    /// The maximum number of cookies per host and in total, and the maximum number of bytes of a cookie.
    static let limits = (perHost: 50, total: 3_000, bytes: 4_096)

    private let stopwatch: Stopwatch
    private let state = Locked(State())

    /// Creates an empty jar. The clock measures the age of cookies.
    public init(clock: any Clock<Duration> = ContinuousClock()) {
        stopwatch = Stopwatch(clock)
    }

    /// The number of stored cookies.
    public var count: Int { state.withLock { $0.cookies.values.reduce(0) { $0 + $1.count } } }

    /// Removes all cookies.
    public func removeAll() { state.withLock { $0 = State() } }

    /// Returns the value of `Cookie` for a URL, or `nil` if there are no cookies. Longer paths come first (section
    /// 5.4).
    func field(for url: String) -> String? {
        guard let scope = RequestScope(url) else { return nil }
        let time = stopwatch.elapsed
        let found = state.withLock { state in
            (state.cookies[scope.host] ?? []).filter {
                ($0.end.map { $0 > time } ?? true) && (scope.isSecure || !$0.isSecure) && scope.matches($0.path)
            }
        }
        // Stable: for equal lengths, the cookie that was set first comes first.
        let sorted = found.enumerated().sorted {
            ($1.element.path.utf8.count, $0.offset) < ($0.element.path.utf8.count, $1.offset)
        }
        return sorted.isEmpty ? nil : sorted.map { "\($0.element.name)=\($0.element.value)" }.joined(separator: "; ")
    }

    /// Stores the cookies of a response. Invalid cookies are ignored, as in browsers.
    func store(_ headers: HTTPFields, from url: String) {
        let lines = headers[values: .setCookie]
        guard !lines.isEmpty, let scope = RequestScope(url) else { return }
        let time = stopwatch.elapsed
        let date = headers[.date].flatMap(HTTPDate.init)
        for line in lines.prefix(Self.limits.perHost) {
            guard let cookie = Self.cookie(line, scope, date, time) else { continue }
            state.withLock { state in
                let known = state.cookies[scope.host] ?? []
                guard scope.isSecure || !Self.isShadowing(cookie, known) else { return }
                Self.insert(cookie, for: scope.host, into: &state, at: time)
            }
        }
    }

    /// Returns whether a cookie from an unencrypted response would replace one that is sent only over TLS (RFC 6265bis
    /// section 5.7, "leave secure cookies alone").
    private static func isShadowing(_ cookie: Cookie, _ known: [Cookie]) -> Bool {
        known.contains { $0.isSecure && $0.name == cookie.name && RequestScope.isPath(cookie.path, under: $0.path) }
    }

    private static func insert(_ cookie: Cookie, for host: String, into state: inout State, at time: Duration) {
        var kept = state.cookies[host] ?? []
        kept.removeAll { $0.end.map { $0 <= time } ?? false }
        let index = kept.firstIndex { $0.name == cookie.name && $0.path == cookie.path }
        let isExpired = cookie.end.map { $0 <= time } ?? false
        switch (index, isExpired) {
        case (let index?, true): kept.remove(at: index)
        case (let index?, false): kept[index] = cookie
        case (nil, true): break
        case (nil, false): kept.append(cookie)
        }
        if kept.count > limits.perHost { kept.removeFirst() }
        state.order.removeAll { $0 == host }
        state.cookies[host] = kept.isEmpty ? nil : kept
        if !kept.isEmpty { state.order.append(host) }
        while state.cookies.values.reduce(0, { $0 + $1.count }) > limits.total, let oldest = state.order.first {
            state.order.removeFirst()
            state.cookies[oldest] = nil
        }
    }
}

// MARK: - Reading Set-Cookie

extension CookieJar {
    /// The host, path and scheme of a URL, as relevant for cookies.
    private struct RequestScope {
        let host: String
        let path: String
        let isSecure: Bool

        init?(_ url: String) {
            guard let target = try? RequestTarget(url) else { return nil }
            // Cookies are not isolated by port (RFC 6265 section 8.5).
            host = String(target.hostAndPort[..<target.hostAndPort.lastIndex(of: ":")!])
            isSecure = target.isSecure
            let path = URLReference(url).path
            self.path = path.hasPrefix("/") ? path : "/"
        }

        /// Returns whether the path matches another one (section 5.1.4).
        func matches(_ other: String) -> Bool { Self.isPath(path, under: other) }

        static func isPath(_ path: String, under other: String) -> Bool {
            path == other
                || path.hasPrefix(other) && (other.hasSuffix("/") || path.dropFirst(other.count).hasPrefix("/"))
        }

        /// The default path of section 5.1.4: up to the last slash.
        var defaultPath: String {
            let slash = path.lastIndex(of: "/")!
            return slash == path.startIndex ? "/" : String(path[..<slash])
        }
    }

    /// Parses a cookie according to section 5.2. An invalid age or date is ignored.
    private static func cookie(_ line: String, _ scope: RequestScope, _ date: HTTPDate?, _ now: Duration) -> Cookie? {
        guard line.utf8.count <= limits.bytes, !line.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            return nil
        }
        let pieces = line.split(separator: ";", omittingEmptySubsequences: false).map(Self.pair)
        guard let first = pieces.first, let value = first.value, !first.name.isEmpty else { return nil }
        var cookie = Cookie(name: first.name, value: value, path: scope.defaultPath, isSecure: false, end: nil)
        var age: Duration?
        for piece in pieces.dropFirst() {
            switch (piece.name.lowercased(), piece.value) {
            case ("secure", _): cookie.isSecure = true
            case ("path", let path?): cookie.path = path.hasPrefix("/") ? path : scope.defaultPath
            case ("max-age", let text?):
                guard let seconds = Int64(text), text.first != "+" else { continue }
                age = .seconds(max(0, min(seconds, 400 * 86_400)))
            case ("expires", let text?):
                guard cookie.end == nil, let end = HTTPDate(text), let date else { continue }
                cookie.end = now + .seconds(max(0, min(end.seconds - date.seconds, 400 * 86_400)))
            default: continue
            }
        }
        // `Max-Age` takes precedence over `Expires` (section 5.3).
        if let age { cookie.end = now + age }
        return cookie.isSecure && !scope.isSecure ? nil : cookie
    }

    private static func pair(_ piece: Substring) -> (name: String, value: String?) {
        func trimmed(_ text: Substring) -> String {
            let start = text.drop { $0 == " " || $0 == "\t" }
            return String(
                start[
                    ..<(start.lastIndex { $0 != " " && $0 != "\t" }.map { start.index(after: $0) } ?? start.startIndex)]
            )
        }
        guard let sign = piece.firstIndex(of: "=") else { return (trimmed(piece), nil) }
        return (trimmed(piece[..<sign]), trimmed(piece[piece.index(after: sign)...]))
    }
}

extension CookieJar: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The number of cookies, without names and values.
    public var description: String { "jar of \(count) cookies" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The number only.
    public var customMirror: Mirror { Mirror(self, children: ["count": count]) }
}
