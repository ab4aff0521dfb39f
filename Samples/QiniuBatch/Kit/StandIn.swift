import Crypto
import FlyingFox
import FlyingSocks
import Foundation
import WaybillStores
import WaybillTesting

/// A stand-in for Qiniu on 127.0.0.1: it takes forms whose token is good, and answers with the hash of what it got.
public final class StandIn: Sendable {
    /// What it has seen.
    public struct Books: Sendable {
        /// Sizes by key.
        public var objects: [String: Int] = [:]
        /// The most requests at one time.
        public var peak = 0
        var inFlight = 0
    }

    /// Where it listens: `http://127.0.0.1:1234`.
    public let url: String
    private let server: HTTPServer
    private let running: Task<Void, any Error>
    private let ledger: Ledger

    /// What it has seen until now.
    public var books: Books { get async { await ledger.books } }

    /// Starts it on a free port, for one pair of keys.
    public init(accessKey: String, secretKey: String) async throws {
        let server = HTTPServer(
            config: HTTPServer.Configuration(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled))
        let ledger = Ledger()
        await server.appendRoute("POST /") { request in
            let number = await ledger.enter()
            let (status, answer) = await Self.answer(request, ledger, accessKey: accessKey, secretKey: secretKey)
            await ledger.leave()
            return HTTPResponse(
                statusCode: HTTPStatusCode(status, phrase: status == 200 ? "OK" : "Refused"),
                headers: [HTTPHeader("X-Reqid"): "reqid-\(number)", .contentType: "application/json"],
                body: Data(answer.utf8))
        }
        self.server = server
        self.ledger = ledger
        running = Task { try await server.run() }
        try await server.waitUntilListening(timeout: 5)
        guard case .ip4(_, let port) = await server.listeningAddress else { throw CancellationError() }
        url = "http://127.0.0.1:\(port)"
    }

    /// Closes the port.
    public func stop() async {
        await server.stop()
        running.cancel()
    }

    private static func answer(
        _ request: HTTPRequest, _ ledger: Ledger, accessKey: String, secretKey: String
    ) async -> (Int, String) {
        guard let body = try? await request.bodyData,
            let form = try? RecordedForm(body: Array(body), contentType: request.headers[.contentType] ?? ""),
            let token = try? form.text("token"), let file = try? form.part("file")
        else { return (400, #"{"error":"invalid form"}"#) }
        // Written once more, on purpose: the two sides share a rule, not its code.
        let pieces = token.split(separator: ":").map(String.init)
        let key = SymmetricKey(data: Data(secretKey.utf8))
        guard pieces.count == 3, pieces[0] == accessKey,
            let signature = Data(base64Encoded: pieces[1].replacing("-", with: "+").replacing("_", with: "/")),
            HMAC<Insecure.SHA1>.isValidAuthenticationCode(signature, authenticating: Data(pieces[2].utf8), using: key)
        else { return (401, #"{"error":"bad token"}"#) }
        // A store takes its time.
        try? await Task.sleep(for: .milliseconds(5))
        let hash = QiniuEtag(of: file.bytes).value
        let name = (try? form.text("key")) ?? hash
        await ledger.keep(name, file.bytes.count)
        return (200, #"{"hash":"\#(hash)","key":"\#(name)"}"#)
    }

    private actor Ledger {
        var books = Books()
        private var number = 0

        func enter() -> Int {
            number += 1
            books.inFlight += 1
            books.peak = max(books.peak, books.inFlight)
            return number
        }

        func leave() { books.inFlight -= 1 }
        func keep(_ key: String, _ size: Int) { books.objects[key] = size }
    }
}
