import FlyingFox
import FlyingSocks
import Foundation
import ReceiverKit
import WaybillTesting

/// A backend on 127.0.0.1 that accepts forms at `POST /cards` and honors the header field `Idempotency-Key`.
///
/// A repeated request with the same key and body gets the same response and has no second effect; the same key with a
/// different body is rejected. Exactly-once delivery requires this of a server.
public final class LittleBackend: Sendable {
    /// The URL for forms: `http://127.0.0.1:1234/cards`.
    public let url: String
    private let server: HTTPServer
    private let running: Task<Void, any Error>
    private let state: BackendState

    /// Starts the server on a free port.
    ///
    /// - Parameter token: The required value of the field `TOKEN`.
    /// - Throws: An error if the server cannot listen.
    public init(token: String) async throws {
        let server = HTTPServer(
            config: HTTPServer.Configuration(
                address: try .inet(ip4: "127.0.0.1", port: 0), timeout: 120,
                // No buffering: the handler sees a body while it arrives.
                sharedRequestReplaySize: 0, logger: .disabled))
        let state = BackendState()
        await server.appendRoute("POST /cards", to: FormHandler(token: token, state: state))
        self.server = server
        self.state = state
        running = Task { try await server.run() }
        try await server.waitUntilListening(timeout: 5)
        guard case .ip4(_, let port) = await server.listeningAddress else { throw CancellationError() }
        url = "http://127.0.0.1:\(port)/cards"
    }

    /// The current counters and effects.
    public var snapshot: BackendSnapshot { get async { await state.snapshot } }

    /// Waits until a snapshot satisfies a condition, and returns it.
    public func wait(until condition: @escaping @Sendable (BackendSnapshot) -> Bool) async -> BackendSnapshot {
        await state.wait(until: condition)
    }

    /// Delays the response to the n-th effect. The effect is recorded before.
    public func delayResponse(toEffect number: Int) async { await state.delay(number) }

    /// Sends the delayed response.
    public func sendDelayedResponse() async { await state.delay(nil) }

    /// Closes the port.
    public func stop() async {
        await state.delay(nil)
        await server.stop()
        running.cancel()
        _ = await running.result
    }
}

/// Receives a form and responds with an envelope.
struct FormHandler: HTTPHandler {
    let token: String
    let state: BackendState

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        let key = request.headers[HTTPHeader("Idempotency-Key")].map { $0.trimmingCharacters(in: ["\""]) }
        let total = request.headers[.contentLength].flatMap { Int($0) } ?? 0
        let arrival = await state.begin(total: total)
        var body: [UInt8] = []
        do {
            for try await chunk in request.bodySequence {
                body += chunk
                await state.received(arrival, body.count)
            }
        } catch {
            await state.truncated(arrival)
            throw error
        }
        // The sequence also ends when the client disconnects.
        guard body.count == total else {
            await state.truncated(arrival)
            return respond(400, "100002", "The body is truncated.")
        }
        await state.complete(arrival)
        guard let key, !key.isEmpty else {
            return respond(400, "100005", "The header field Idempotency-Key is missing.")
        }
        guard let form = try? RecordedForm(body: body, contentType: request.headers[.contentType] ?? "") else {
            return respond(400, "100002", "The body is not a valid form.")
        }
        guard (try? form.text("TOKEN")) == token else { return respond(200, "100001", "The token is invalid.") }
        switch await state.record(form, key: key, body: digest(body)) {
        case .recorded(let effect):
            await state.waitWhileDelayed(effect.number)
            return respond(200, "000000", "stored", effect)
        case .replayed(let effect): return respond(200, "000000", "stored", effect, isReplay: true)
        case .differentBody: return respond(422, "100006", "The key was used with a different body.")
        }
    }

    private func respond(
        _ status: Int, _ code: String, _ message: String, _ effect: Effect? = nil, isReplay: Bool = false
    ) -> HTTPResponse {
        let data = effect.map { #", "DATA": {"NUMBER": \#($0.number), "SHA256": "\#($0.fileDigest)"}"# } ?? ""
        let json = #"{"RETCODE": "\#(code)", "RETMSG": "\#(message)"\#(data)}"#
        var headers: [HTTPHeader: String] = [.contentType: "application/json"]
        if isReplay { headers[HTTPHeader("Idempotency-Replayed")] = "true" }
        return HTTPResponse(
            statusCode: HTTPStatusCode(status, phrase: status == 200 ? "OK" : "Rejected"), headers: headers,
            body: Data(json.utf8))
    }
}

/// Returns the SHA-256 in hexadecimal digits.
func digest(_ bytes: [UInt8]) -> String {
    var sum = SHA256()
    sum.update(bytes.span)
    return sum.finish().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
