import FlyingFox
import FlyingSocks
import Foundation
import LittleStore

/// Your server: it gives the app temporary keys, as AssumeRole of STS does. The keys of the account are not sent to the
/// app.
public final class TokenServer: Sendable {
    /// The URL for keys: `http://127.0.0.1:1234/sts`.
    public let url: String
    private let server: HTTPServer
    private let running: Task<Void, any Error>
    private let counter: Counter

    /// Starts the server on a free port.
    ///
    /// - Parameters:
    ///   - keys: The key ring that issues the keys. The store has the same one.
    ///   - lifetime: The lifetime of the keys in seconds.
    /// - Throws: An error if the server cannot listen.
    public init(keys: KeyRing, lifetime: TimeInterval = 900) async throws {
        let server = HTTPServer(
            config: HTTPServer.Configuration(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled))
        let counter = Counter()
        await server.appendRoute("GET /sts") { _ in
            await counter.increment()
            let temporary = await keys.temporaryKeys(lasting: lifetime)
            let credentials = [
                "AccessKeyId": temporary.id, "AccessKeySecret": temporary.secret,
                "SecurityToken": temporary.token ?? "",
                "Expiration": (temporary.expiration ?? Date()).ISO8601Format(),
            ]
            let body = try JSONEncoder().encode(["Credentials": credentials])
            return HTTPResponse(statusCode: .ok, headers: [.contentType: "application/json"], body: body)
        }
        self.server = server
        self.counter = counter
        running = Task { try await server.run() }
        try await server.waitUntilListening(timeout: 5)
        guard case .ip4(_, let port) = await server.listeningAddress else { throw CancellationError() }
        url = "http://127.0.0.1:\(port)/sts"
    }

    /// The number of requests.
    public var requestCount: Int {
        get async { await counter.value }
    }

    /// Closes the port.
    public func stop() async {
        await server.stop()
        running.cancel()
    }
}

private actor Counter {
    private(set) var value = 0
    func increment() { value += 1 }
}
