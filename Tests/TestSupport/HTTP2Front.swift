/// HTTP/2 over TLS in front of a ``LoopbackServer``: nginx, which forwards bodies unbuffered.
///
/// Three paths are special: `/limited` responds with 413 if the announced body is larger than 1 MiB, `/early`
/// responds with 200 without reading the body, and `/once` closes the connection with GOAWAY after the response.
package final class HTTP2Front: Sendable {
    /// The certificates of the front.
    package let certificates: Certificates
    private let process: HelperProcess

    /// Starts the front.
    package init(to server: LoopbackServer) async throws {
        let certificates = try await Certificates.shared
        self.certificates = certificates
        let target = server.port
        process = try await HelperProcess.start("nginx") { port, folder in
            let settings = Self.settings(port: port, target: target, certificates, folder)
            let file = try folder.write("nginx.conf", settings)
            return ["-p", folder.path, "-c", file, "-e", folder.path("log")]
        }
    }

    /// The PEM file of the authority to trust.
    package var authority: String { certificates.authority }

    /// Returns the URL of a path.
    package func url(_ path: String = "/") -> String { "https://127.0.0.1:\(process.port)\(path)" }

    /// Kills the front; open connections are reset.
    package func kill() { process.kill() }

    private static func settings(
        port: Int, target: Int, _ certificates: Certificates, _ folder: TemporaryDirectory
    ) -> String {
        Nginx.settings(
            server: """
                listen 127.0.0.1:\(port) ssl http2;
                ssl_certificate \(certificates.certificate(.valid));
                ssl_certificate_key \(certificates.key(.valid));
                location / { proxy_pass http://127.0.0.1:\(target); }
                location /limited { client_max_body_size 1m; proxy_pass http://127.0.0.1:\(target); }
                location /early { return 200 "early"; }
                location /once { keepalive_requests 1; proxy_pass http://127.0.0.1:\(target); }
                """, in: folder)
    }
}
