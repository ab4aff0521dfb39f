/// The settings of an nginx that writes only to its directory, runs as a single process and forwards bodies
/// unbuffered.
enum Nginx {
    /// - Parameters:
    ///   - server: The contents of the `server` block.
    ///   - folder: The directory for its files.
    /// - Returns: The text of `nginx.conf`.
    static func settings(server: String, in folder: TemporaryDirectory) -> String {
        let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "\($0)_temp_path \(folder.path($0));"
        }
        return """
            daemon off;
            master_process off;
            pid \(folder.path("pid"));
            error_log \(folder.path("log")) warn;
            events { worker_connections 256; }
            http {
                access_log off;
                \(places.joined(separator: "\n    "))
                client_max_body_size 0;
                proxy_http_version 1.1;
                proxy_request_buffering off;
                proxy_buffering off;
                server {
                    \(server)
                }
            }

            """
    }
}
