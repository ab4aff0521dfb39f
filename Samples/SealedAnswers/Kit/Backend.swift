import Crypto
import FlyingFox
import FlyingSocks
import Foundation
import WaybillTesting

/// A backend on 127.0.0.1 that checks the signature of a form and seals every answer with AES-GCM.
public final class Backend: Sendable {
    /// Where it listens: `http://127.0.0.1:1234/api/`.
    public let url: String
    private let server: HTTPServer
    private let running: Task<Void, any Error>

    /// Starts it on a free port.
    ///
    /// - Parameters:
    ///   - signingKey: What the client's HMAC is checked with.
    ///   - sealingKey: What answers are sealed with.
    /// - Throws: When nothing can listen.
    public init(signingKey: [UInt8], sealingKey: [UInt8]) async throws {
        let server = HTTPServer(
            config: HTTPServer.Configuration(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled))
        await server.appendRoute("POST /api/upload") { request in
            let form = try RecordedForm(
                body: Array(try await request.bodyData), contentType: request.headers[.contentType] ?? "")
            let answer = Self.answer(to: form, signingKey)
            let sealed = try AES.GCM.seal(Array(answer.utf8), using: SymmetricKey(data: sealingKey))
            return HTTPResponse(statusCode: .ok, body: sealed.combined ?? Data())
        }
        self.server = server
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

    /// The envelope; its status is always 200, as so often.
    private static func answer(to form: RecordedForm, _ key: [UInt8]) -> String {
        let fields = form.parts.filter { $0.fileName == nil && $0.name != "sign" }
            .map { ($0.name, String(decoding: $0.bytes, as: UTF8.self)) }.filter { !$0.1.isEmpty }
        // Written once more, on purpose: the two sides share a rule, not its code.
        let text = fields.sorted { Array($0.0.utf8).lexicographicallyPrecedes(Array($1.0.utf8)) }
            .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        guard let sign = (try? form.text("sign")).flatMap({ Data(base64Encoded: $0) }),
            HMAC<SHA256>.isValidAuthenticationCode(
                sign, authenticating: Data(text.utf8), using: SymmetricKey(data: key))
        else { return #"{"code": 1001, "message": "验签失败"}"# }
        guard let business = try? form.text("BUSINESSNO") else {
            return #"{"code": 1002, "message": "BUSINESSNO is missing"}"#
        }
        return #"{"code": 0, "message": "ok", "data": {"number": 7, "business": "\#(business)"}}"#
    }
}
