import FlyingFox
import FlyingSocks
import Foundation

/// A server on 127.0.0.1 that gives a list of statuses, one for each request, and keeps what `traceparent` they had.
final class ScriptedServer: Sendable {
    actor Book {
        private var statuses: [Int]
        private(set) var traceparents: [String] = []

        init(_ statuses: [Int]) {
            self.statuses = statuses
        }

        /// The last status is given to all that come later.
        func next(_ traceparent: String?) -> Int {
            traceparents.append(traceparent ?? "none")
            return statuses.count > 1 ? statuses.removeFirst() : statuses[0]
        }
    }

    let url: String
    let book: Book
    private let server: HTTPServer
    private let running: Task<Void, any Error>

    /// Each answer comes a while after the last byte of its request.
    init(_ statuses: [Int], after delay: Duration = .zero) async throws {
        let book = Book(statuses)
        let server = HTTPServer(
            config: HTTPServer.Configuration(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled))
        await server.appendRoute("POST /customers/4711") { request in
            _ = try await request.bodyData
            try await Task.sleep(for: delay)
            let status = await book.next(request.headers[HTTPHeader("traceparent")])
            return HTTPResponse(statusCode: HTTPStatusCode(status, phrase: "of the script"))
        }
        self.book = book
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
