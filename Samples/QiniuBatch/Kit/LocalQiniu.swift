import Crypto
import FlyingFox
import FlyingSocks
import Foundation
import WaybillStores
import WaybillTesting

/// A test server for Qiniu on 127.0.0.1. It accepts forms with a valid token and responds with the hash of the file.
public final class LocalQiniu: Sendable {
    /// The objects and counters of the store.
    public struct Snapshot: Sendable {
        /// The size of each object, by key.
        public var objects: [String: Int] = [:]
        /// The largest number of concurrent requests.
        public var peak = 0
        var inFlight = 0
    }

    /// The base URL: `http://127.0.0.1:1234`.
    public let url: String
    private let server: HTTPServer
    private let running: Task<Void, any Error>
    private let state: State

    /// The current objects and counters.
    public var snapshot: Snapshot { get async { await state.snapshot } }

    /// Starts the server on a free port with one pair of keys.
    public init(accessKey: String, secretKey: String) async throws {
        let server = HTTPServer(
            config: HTTPServer.Configuration(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled))
        let state = State()
        await server.appendRoute("POST /") { request in
            let number = await state.requestBegan()
            let (status, body) = await Self.respond(to: request, state, accessKey: accessKey, secretKey: secretKey)
            await state.requestEnded()
            return HTTPResponse(
                statusCode: HTTPStatusCode(status, phrase: status == 200 ? "OK" : "Rejected"),
                headers: [HTTPHeader("X-Reqid"): "reqid-\(number)", .contentType: "application/json"],
                body: Data(body.utf8))
        }
        self.server = server
        self.state = state
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

    private static func respond(
        to request: HTTPRequest, _ state: State, accessKey: String, secretKey: String
    ) async -> (Int, String) {
        guard let body = try? await request.bodyData,
            let form = try? RecordedForm(body: Array(body), contentType: request.headers[.contentType] ?? ""),
            let token = try? form.text("token"), let file = try? form.part("file")
        else { return (400, #"{"error":"invalid form"}"#) }
        // A second implementation, on purpose: client and server share the specification, not code.
        let pieces = token.split(separator: ":").map(String.init)
        let key = SymmetricKey(data: Data(secretKey.utf8))
        guard pieces.count == 3, pieces[0] == accessKey,
            let signature = Data(base64Encoded: pieces[1].replacing("-", with: "+").replacing("_", with: "/")),
            HMAC<Insecure.SHA1>.isValidAuthenticationCode(signature, authenticating: Data(pieces[2].utf8), using: key)
        else { return (401, #"{"error":"bad token"}"#) }
        // The latency of a store.
        try? await Task.sleep(for: .milliseconds(5))
        let hash = QiniuEtag(of: file.bytes).value
        let name = (try? form.text("key")) ?? hash
        await state.store(name, file.bytes.count)
        return (200, #"{"hash":"\#(hash)","key":"\#(name)"}"#)
    }

    private actor State {
        var snapshot = Snapshot()
        private var number = 0

        func requestBegan() -> Int {
            number += 1
            snapshot.inFlight += 1
            snapshot.peak = max(snapshot.peak, snapshot.inFlight)
            return number
        }

        func requestEnded() { snapshot.inFlight -= 1 }
        func store(_ key: String, _ size: Int) { snapshot.objects[key] = size }
    }
}
