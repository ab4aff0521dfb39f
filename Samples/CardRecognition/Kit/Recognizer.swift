import Crypto
import FlyingFox
import FlyingSocks
import Foundation
import WaybillJPEG
import WaybillTesting

/// A test server for a service that recognizes identity cards: `POST /ocr/idcard` with `api_key`, `api_secret` and `image_file`.
///
/// It distinguishes the sides of the specimen by the aspect ratio of the photo: the photo of the back is upright.
public final class Recognizer: Sendable {
    /// The URL for images: `http://127.0.0.1:1234/ocr/idcard`.
    public let url: String
    private let server: HTTPServer
    private let running: Task<Void, any Error>

    /// Starts the server on a free port with one pair of credentials.
    ///
    /// - Throws: An error if the server cannot listen.
    public init(apiKey: String, apiSecret: String) async throws {
        let server = HTTPServer(
            config: HTTPServer.Configuration(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled))
        await server.appendRoute("POST /ocr/idcard") { request in
            let body = Array(try await request.bodyData)
            guard let form = try? RecordedForm(body: body, contentType: request.headers[.contentType] ?? "") else {
                return Self.rejection(.badRequest, "BAD_ARGUMENTS")
            }
            guard (try? form.text("api_key")) == apiKey, (try? form.text("api_secret")) == apiSecret else {
                return Self.rejection(.unauthorized, "AUTHENTICATION_ERROR")
            }
            guard let image = try? form.part("image_file").bytes, let header = try? JPEGHeader(parsing: image) else {
                return Self.rejection(.badRequest, "IMAGE_ERROR_UNSUPPORTED_FORMAT")
            }
            let side = header.width > header.height ? "front" : "back"
            // A square image has no card.
            let cards = header.width == header.height ? "" : #"{"type": 1, "side": "\#(side)"}"#
            let digest = SHA256.hash(data: image).map { String(format: "%02x", $0) }.joined()
            return Self.json(.ok, #"{"image_id": "\#(digest)", "cards": [\#(cards)]}"#)
        }
        self.server = server
        running = Task { try await server.run() }
        try await server.waitUntilListening(timeout: 5)
        guard case .ip4(_, let port) = await server.listeningAddress else { throw CancellationError() }
        url = "http://127.0.0.1:\(port)/ocr/idcard"
    }

    /// Closes the port.
    public func stop() async {
        await server.stop()
        running.cancel()
    }

    private static func rejection(_ status: HTTPStatusCode, _ message: String) -> HTTPResponse {
        json(status, #"{"error_message": "\#(message)"}"#)
    }

    private static func json(_ status: HTTPStatusCode, _ text: String) -> HTTPResponse {
        HTTPResponse(statusCode: status, headers: [.contentType: "application/json"], body: Data(text.utf8))
    }
}
