import Crypto
import FlyingFox
import FlyingSocks
import Foundation
import WaybillTesting

/// A backend on 127.0.0.1 that verifies the signature of a form and encrypts each response with AES-GCM.
public final class Backend: Sendable {
    /// The base URL: `http://127.0.0.1:1234/api/`.
    public let url: String
    private let server: HTTPServer
    private let running: Task<Void, any Error>

    /// Starts the server on a free port.
    ///
    /// - Parameters:
    ///   - signingKey: The key of the client's HMAC.
    ///   - encryptionKey: The key for responses.
    /// - Throws: An error if the server cannot listen.
    public init(signingKey: [UInt8], encryptionKey: [UInt8]) async throws {
        let server = HTTPServer(
            config: HTTPServer.Configuration(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled))
        await server.appendRoute("POST /api/upload") { request in
            let form = try RecordedForm(
                body: Array(try await request.bodyData), contentType: request.headers[.contentType] ?? "")
            let envelope = Self.envelope(for: form, signingKey)
            let encrypted = try AES.GCM.seal(Array(envelope.utf8), using: SymmetricKey(data: encryptionKey))
            return HTTPResponse(statusCode: .ok, body: encrypted.combined ?? Data())
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

    /// Returns the envelope. The HTTP status is always 200, as with many such backends.
    private static func envelope(for form: RecordedForm, _ key: [UInt8]) -> String {
        let fields = form.parts.filter { $0.fileName == nil && $0.name != "sign" }
            .map { ($0.name, String(decoding: $0.bytes, as: UTF8.self)) }.filter { !$0.1.isEmpty }
        // A second implementation, on purpose: client and server share the specification, not code.
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
