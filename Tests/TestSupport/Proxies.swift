/// An HTTP proxy: tinyproxy.
///
/// ```swift
/// let proxy = try await ForwardProxy(user: "jo", password: "s3cret")
/// options.transfer.proxy = proxy.url(user: "jo", password: "s3cret")
/// ```
package final class ForwardProxy: Sendable {
    private let process: HelperProcess

    /// Starts the proxy. With a user, it responds with 407 unless that name and password are given.
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

    /// Returns the URL of the proxy.
    package func url(user: String? = nil, password: String = "") -> String {
        "http://\(user.map { "\($0):\(password)@" } ?? "")127.0.0.1:\(process.port)"
    }

    /// The port it listens on.
    package var port: Int { process.port }

    /// Kills the proxy; open connections are reset.
    package func kill() { process.kill() }
}

/// A SOCKS 5 proxy (RFC 1928): microsocks.
package final class SOCKSProxy: Sendable {
    private let process: HelperProcess

    /// Starts the proxy. With a user, it rejects clients without that name and password (RFC 1929).
    package init(user: String? = nil, password: String = "") async throws {
        process = try await HelperProcess.start("microsocks") { port, _ in
            ["-i", "127.0.0.1", "-p", "\(port)"] + (user.map { ["-u", $0, "-P", password] } ?? [])
        }
    }

    /// Returns the URL of the proxy, which resolves names.
    package func url(user: String? = nil, password: String = "") -> String {
        "socks5h://\(user.map { "\($0):\(password)@" } ?? "")127.0.0.1:\(process.port)"
    }

    /// Kills the proxy; open connections are reset.
    package func kill() { process.kill() }
}
