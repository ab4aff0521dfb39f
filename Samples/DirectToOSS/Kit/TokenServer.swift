import FlyingFox
import FlyingSocks
import Foundation
import LittleStore

/// A server of yours that gives an app keys for some minutes, as AssumeRole of STS does. The app never sees the account's own.
public final class TokenServer: Sendable {
    /// Where the keys are: `http://127.0.0.1:1234/sts`.
    public let url: String
    private let server: HTTPServer
    private let running: Task<Void, any Error>
    private let counter: Counter

    /// Starts it on a free port.
    ///
    /// - Parameters:
    ///   - keys: What makes the keys; the store has the same ring.
    ///   - lifetime: How many seconds they are good.
    /// - Throws: When nothing can listen.
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
                "Expiration": (temporary.end ?? Date()).ISO8601Format(),
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

    /// How often keys were asked for.
    public var timesAsked: Int {
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
