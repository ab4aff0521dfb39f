import FlyingFox
import FlyingSocks
import Foundation

/// A server on 127.0.0.1 that responds with a list of statuses and records the `traceparent` of each request.
final class ScriptedServer: Sendable {
    actor Script {
        private var statuses: [Int]
        private(set) var traceparents: [String] = []

        init(_ statuses: [Int]) {
            self.statuses = statuses
        }

        /// Returns the next status; the last one repeats.
        func next(_ traceparent: String?) -> Int {
            traceparents.append(traceparent ?? "none")
            return statuses.count > 1 ? statuses.removeFirst() : statuses[0]
        }
    }

    let url: String
    let script: Script
    private let server: HTTPServer
    private let running: Task<Void, any Error>

    /// Starts the server. Each response is delayed after the end of its request.
    init(_ statuses: [Int], after delay: Duration = .zero) async throws {
        let script = Script(statuses)
        let server = HTTPServer(
            config: HTTPServer.Configuration(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled))
        await server.appendRoute("POST /customers/4711") { request in
            _ = try await request.bodyData
            try await Task.sleep(for: delay)
            let status = await script.next(request.headers[HTTPHeader("traceparent")])
            return HTTPResponse(statusCode: HTTPStatusCode(status, phrase: "Scripted"))
        }
        self.script = script
        self.server = server
        running = Task { try await server.run() }
        try await server.waitUntilListening(timeout: 30)
        guard case .ip4(_, let port) = await server.listeningAddress else { throw CancellationError() }
        url = "http://127.0.0.1:\(port)/customers/4711"
    }

    func stop() async {
        await server.stop()
        running.cancel()
    }
}
