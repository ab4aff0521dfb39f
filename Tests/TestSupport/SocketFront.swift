/// HTTP on a Unix socket and on the IPv6 loopback address in front of a ``LoopbackServer``: nginx, which forwards
/// bodies unbuffered.
package final class SocketFront: Sendable {
    private let process: HelperProcess

    /// Starts the front.
    package init(to server: LoopbackServer) async throws {
        let target = server.port
        // nginx opens them in this order, and the last is the one that is awaited.
        process = try await HelperProcess.start("nginx") { port, folder in
            let settings = Nginx.settings(
                server: """
                    listen unix:\(folder.path("socket"));
                    listen [::1]:\(port) ipv6only=on;
                    listen 127.0.0.1:\(port);
                    location / {
                        proxy_set_header Host $http_host;
                        proxy_set_header X-Way $server_addr;
                        proxy_pass http://127.0.0.1:\(target);
                    }
                    """, in: folder)
            return ["-p", folder.path, "-c", try folder.write("nginx.conf", settings), "-e", folder.path("log")]
        }
    }

    /// The path of its Unix socket.
    package var socket: String { process.folder.path("socket") }

    /// Returns the URL of a path at a host that resolves to the front.
    package func url(_ path: String = "/", host: String = "localhost") -> String {
        "http://\(host):\(process.port)\(path)"
    }

    /// Its port, on 127.0.0.1 and ::1.
    package var port: Int { process.port }
}
