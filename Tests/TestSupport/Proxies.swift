/// A proxy for HTTP: tinyproxy.
///
/// ```swift
/// let proxy = try await ForwardProxy(user: "jo", password: "s3cret")
/// options.transfer.proxy = proxy.url(user: "jo", password: "s3cret")
/// ```
package final class ForwardProxy: Sendable {
    private let process: HelperProcess

    /// Starts it; with a user, it answers 407 to everybody who does not give that name and password.
    package init(user: String? = nil, password: String = "") async throws {
        process = try await HelperProcess.start("tinyproxy") { port, folder in
            let credentials = user.map { "BasicAuth \($0) \(password)" } ?? ""
            let settings = """
                Port \(port)
                Listen 127.0.0.1
                Allow 127.0.0.1
                Timeout 600
                MaxClients 100
                LogLevel Error
                \(credentials)

                """
            return ["-d", "-c", try folder.write("tinyproxy.conf", settings)]
        }
    }

    /// What to give as the proxy.
    package func url(user: String? = nil, password: String = "") -> String {
        "http://\(user.map { "\($0):\(password)@" } ?? "")127.0.0.1:\(process.port)"
    }

    /// The port that it listens on.
    package var port: Int { process.port }

    /// Ends it at once; open connections are reset.
    package func kill() { process.kill() }
}

/// A proxy for anything that speaks SOCKS 5 (RFC 1928): microsocks.
package final class SOCKSProxy: Sendable {
    private let process: HelperProcess

    /// Starts it; with a user, it refuses everybody who does not give that name and password (RFC 1929).
    package init(user: String? = nil, password: String = "") async throws {
        process = try await HelperProcess.start("microsocks") { port, _ in
            ["-i", "127.0.0.1", "-p", "\(port)"] + (user.map { ["-u", $0, "-P", password] } ?? [])
        }
    }

    /// What to give as the proxy; names are looked up by it.
    package func url(user: String? = nil, password: String = "") -> String {
        "socks5h://\(user.map { "\($0):\(password)@" } ?? "")127.0.0.1:\(process.port)"
    }

    /// Ends it at once; open connections are reset.
    package func kill() { process.kill() }
}
