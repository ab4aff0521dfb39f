import Crypto
import FlyingFox
import FlyingSocks
import Foundation
import WaybillTesting

/// A backend of a bank on 127.0.0.1: it wants the front, then the back, then both submitted, answers with status 200 whatever
/// it thinks, and seals its answers with AES-GCM.
public final class Bank: Sendable {
    /// What was handed in.
    public struct Books: Sendable {
        /// Requests that came, by the last step of their path, in order.
        public var requests: [String] = []
        /// SHA-256 of each picture, by its number.
        public var pictures: [String: String] = [:]
        /// The numbers that were submitted together.
        public var submissions: [String] = []
    }

    /// Where it listens: `http://127.0.0.1:1234/api/`.
    public let url: String
    private let server: HTTPServer
    private let running: Task<Void, any Error>
    private let desk: Desk

    /// What was handed in until now.
    public var books: Books { get async { await desk.books } }

    /// Starts it on a free port.
    ///
    /// - Parameters:
    ///   - token: The `TOKEN` of its customers.
    ///   - sealingKey: What answers are sealed with.
    /// - Throws: When nothing can listen.
    public init(token: String, sealingKey: [UInt8]) async throws {
        let server = HTTPServer(
            config: HTTPServer.Configuration(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled))
        let desk = Desk(token: token)
        for step in ["front", "back", "submit"] {
            await server.appendRoute(HTTPRoute("POST /api/cards/\(step)")) { request in
                let form = try RecordedForm(
                    body: Array(try await request.bodyData), contentType: request.headers[.contentType] ?? "")
                let answer = await desk.take(step, form)
                let sealed = try AES.GCM.seal(Array(answer.utf8), using: SymmetricKey(data: sealingKey))
                return HTTPResponse(statusCode: .ok, body: sealed.combined ?? Data())
            }
        }
        self.server = server
        self.desk = desk
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

    private actor Desk {
        private let token: String
        var books = Books()

        init(token: String) { self.token = token }

        /// The envelope.
        func take(_ step: String, _ form: RecordedForm) -> String {
            books.requests.append(step)
            guard (try? form.text("TOKEN")) == token else { return envelope("100001", "the token is not valid") }
            switch step {
            case "front": return keep("F", form)
            case "back":
                guard let front = try? form.text("FRONT"), books.pictures[front] != nil else {
                    return envelope("200001", "the front comes first")
                }
                return keep("B", form)
            default:
                let numbers = (try? form.text("IDS"))?.split(separator: ",").map(String.init) ?? []
                guard numbers.count == 2, numbers.allSatisfy({ books.pictures[$0] != nil }) else {
                    return envelope("200002", "both sides are wanted")
                }
                books.submissions += numbers
                return envelope("000000", "submitted", "S-\(books.submissions.count / 2)")
            }
        }

        private func keep(_ letter: String, _ form: RecordedForm) -> String {
            guard let file = try? form.part("FILE").bytes else { return envelope("200003", "there is no picture") }
            let number = "\(letter)-\(books.pictures.count + 1)"
            books.pictures[number] = SHA256.hash(data: file).map { String(format: "%02x", $0) }.joined()
            return envelope("000000", "stored", number)
        }

        private func envelope(_ code: String, _ message: String, _ number: String? = nil) -> String {
            let data = number.map { #", "DATA": {"ID": "\#($0)"}"# } ?? ""
            return #"{"RETCODE": "\#(code)", "RETMSG": "\#(message)"\#(data)}"#
        }
    }
}
