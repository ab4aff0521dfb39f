import Crypto
import FlyingFox
import FlyingSocks
import Foundation
import WaybillTesting

/// A bank's backend on 127.0.0.1. It expects the front, then the back, then the submission of both. Each response has
/// status 200 and is encrypted with AES-GCM.
public final class Bank: Sendable {
    /// The requests and images received.
    public struct Snapshot: Sendable {
        /// The last path component of each request, in order.
        public var requests: [String] = []
        /// The SHA-256 of each image, by its number.
        public var images: [String: String] = [:]
        /// The numbers of submitted images.
        public var submissions: [String] = []
    }

    /// The base URL: `http://127.0.0.1:1234/api/`.
    public let url: String
    private let server: HTTPServer
    private let running: Task<Void, any Error>
    private let state: State

    /// The current requests and images.
    public var snapshot: Snapshot { get async { await state.snapshot } }

    /// Starts the server on a free port.
    ///
    /// - Parameters:
    ///   - token: The required value of the field `TOKEN`.
    ///   - encryptionKey: The key for responses.
    /// - Throws: An error if the server cannot listen.
    public init(token: String, encryptionKey: [UInt8]) async throws {
        let server = HTTPServer(
            config: HTTPServer.Configuration(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled))
        let state = State(token: token)
        for step in ["front", "back", "submit"] {
            await server.appendRoute(HTTPRoute("POST /api/cards/\(step)")) { request in
                let form = try RecordedForm(
                    body: Array(try await request.bodyData), contentType: request.headers[.contentType] ?? "")
                let envelope = await state.receive(step, form)
                let encrypted = try AES.GCM.seal(Array(envelope.utf8), using: SymmetricKey(data: encryptionKey))
                return HTTPResponse(statusCode: .ok, body: encrypted.combined ?? Data())
            }
        }
        self.server = server
        self.state = state
        running = Task { try await server.run() }
        try await server.waitUntilListening(timeout: 5)
        guard case .ip4(_, let port) = await server.listeningAddress else { throw CancellationError() }
        url = "http://127.0.0.1:\(port)/api/"
    }

    /// Closes the port.
    public func stop() async {
        await server.stop()
        running.cancel()
    }

    private actor State {
        private let token: String
        var snapshot = Snapshot()

        init(token: String) { self.token = token }

        /// Handles a request and returns the envelope.
        func receive(_ step: String, _ form: RecordedForm) -> String {
            snapshot.requests.append(step)
            guard (try? form.text("TOKEN")) == token else { return envelope("100001", "The token is invalid.") }
            switch step {
            case "front": return store("F", form)
            case "back":
                guard let front = try? form.text("FRONT"), snapshot.images[front] != nil else {
                    return envelope("200001", "Send the front first.")
                }
                return store("B", form)
            default:
                let numbers = (try? form.text("IDS"))?.split(separator: ",").map(String.init) ?? []
                guard numbers.count == 2, numbers.allSatisfy({ snapshot.images[$0] != nil }) else {
                    return envelope("200002", "Both sides are required.")
                }
                snapshot.submissions += numbers
                return envelope("000000", "submitted", "S-\(snapshot.submissions.count / 2)")
            }
        }

        private func store(_ prefix: String, _ form: RecordedForm) -> String {
            guard let file = try? form.part("FILE").bytes else {
                return envelope("200003", "The part FILE is missing.")
            }
            let number = "\(prefix)-\(snapshot.images.count + 1)"
            snapshot.images[number] = SHA256.hash(data: file).map { String(format: "%02x", $0) }.joined()
            return envelope("000000", "stored", number)
        }

        private func envelope(_ code: String, _ message: String, _ number: String? = nil) -> String {
            let data = number.map { #", "DATA": {"ID": "\#($0)"}"# } ?? ""
            return #"{"RETCODE": "\#(code)", "RETMSG": "\#(message)"\#(data)}"#
        }
    }
}
