import FlyingFox
import FlyingSocks
import Foundation
import LittleStore
import WaybillCore
import WaybillStores

/// Your server: it signs a form for one user, with a content type and a maximum size, valid for ten minutes.
public final class TicketServer: Sendable {
    /// The URL for tickets: `http://127.0.0.1:1234/ticket`.
    public let url: String
    private let server: HTTPServer
    private let running: Task<Void, any Error>

    /// Starts the server on a free port.
    ///
    /// - Parameters:
    ///   - keys: The keys of the account. They are not sent to the app.
    ///   - bucket: The URL of the bucket that receives the posts.
    ///   - name: The name of the bucket.
    /// - Throws: An error if the server cannot listen.
    public init(keys: KeyRing.Keys, bucket: String, name: String) async throws {
        let server = HTTPServer(
            config: HTTPServer.Configuration(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled))
        await server.appendRoute("GET /ticket") { request in
            // Your server knows the user from the session of the app. Here it is a query parameter.
            let user = request.query["user"] ?? "unknown"
            let form = try Self.ticket(for: user, keys, bucket, name)
            return HTTPResponse(
                statusCode: .ok, headers: [.contentType: "application/json"],
                body: try JSONEncoder().encode(Ticket(form)))
        }
        self.server = server
        running = Task { try await server.run() }
        try await server.waitUntilListening(timeout: 5)
        guard case .ip4(_, let port) = await server.listeningAddress else { throw CancellationError() }
        url = "http://127.0.0.1:\(port)/ticket"
    }

    /// Closes the port.
    public func stop() async {
        await server.stop()
        running.cancel()
    }

    private static func ticket(
        for user: String, _ keys: KeyRing.Keys, _ bucket: String, _ name: String
    ) throws -> OSSPostForm {
        let policy = OSSPostPolicy(
            expiration: Date(timeIntervalSinceNow: 600),
            conditions: [
                .bucket(name), .startsWith("key", "users/\(user)/"), .contentLength(1...102_400),
                .oneOf("content-type", ["image/jpeg"]),
            ])
        return try policy.form(
            at: bucket, rules: OSSSigningRules(.v4, region: "cn-hangzhou"),
            credentials: StoreCredentials(accessKeyID: keys.id, accessKeySecret: .secret(keys.secret)))
    }

    /// The JSON response, in the format of `OSSPostForm(json:)`.
    private struct Ticket: Encodable {
        let url: String
        let fields: [String: String]
        let expire: Int
        let dir: String

        init(_ form: OSSPostForm) {
            url = form.url
            fields = Dictionary(form.fields.map { ($0.name, $0.value.value) }) { $1 }
            expire = Int(form.expiration?.timeIntervalSince1970 ?? 0)
            dir = form.keyPrefix
        }
    }
}
