import FlyingFox
import FlyingSocks
import Foundation
import ReceiverKit
import WaybillTesting

/// A backend on 127.0.0.1 that takes forms at `POST /cards` and knows an `Idempotency-Key` again.
///
/// The same key with the same body gets the same answer and has no second effect; the same key with another body is refused.
/// That is what "delivered once" needs on the other side of the wire.
public final class LittleBackend: Sendable {
    /// Where forms go: `http://127.0.0.1:1234/cards`.
    public let url: String
    private let server: HTTPServer
    private let running: Task<Void, any Error>
    private let ledger: Ledger

    /// Starts it on a free port.
    ///
    /// - Parameter token: The `TOKEN` that a form must carry.
    /// - Throws: When nothing can listen.
    public init(token: String) async throws {
        let server = HTTPServer(
            config: HTTPServer.Configuration(
                address: try .inet(ip4: "127.0.0.1", port: 0), timeout: 120,
                // Bodies are read as they come: what is in the middle of one is seen.
                sharedRequestReplaySize: 0, logger: .disabled))
        let ledger = Ledger()
        await server.appendRoute("POST /cards", to: FormDesk(token: token, ledger: ledger))
        self.server = server
        self.ledger = ledger
        running = Task { try await server.run() }
        try await server.waitUntilListening(timeout: 5)
        guard case .ip4(_, let port) = await server.listeningAddress else { throw CancellationError() }
        url = "http://127.0.0.1:\(port)/cards"
    }

    /// What it has seen until now.
    public var books: Books { get async { await ledger.books } }

    /// Waits until the books say something.
    public func wait(until isSo: @escaping @Sendable (Books) -> Bool) async -> Books { await ledger.wait(until: isSo) }

    /// Keeps the answer to the n-th booking back: it is booked, and nobody is told.
    public func holdAnswer(toBooking number: Int) async { await ledger.hold(number) }

    /// Lets go of the answer that was kept back.
    public func descriptorClosed() async { await ledger.hold(nil) }

    /// Closes the port.
    public func stop() async {
        await ledger.hold(nil)
        await server.stop()
        running.cancel()
        _ = await running.result
    }
}

/// Takes one form.
struct FormDesk: HTTPHandler {
    let token: String
    let ledger: Ledger

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        let key = request.headers[HTTPHeader("Idempotency-Key")].map { $0.trimmingCharacters(in: ["\""]) }
        let total = request.headers[.contentLength].flatMap { Int($0) } ?? 0
        let arrival = await ledger.begin(total: total)
        var body: [UInt8] = []
        do {
            for try await chunk in request.bodySequence {
                body += chunk
                await ledger.received(arrival, body.count)
            }
        } catch {
            await ledger.broken(arrival)
            throw error
        }
        // A sender that is gone in the middle ends the sequence as well.
        guard body.count == total else {
            await ledger.broken(arrival)
            return answer(400, "100002", "the body broke off")
        }
        await ledger.whole(arrival)
        guard let key, !key.isEmpty else { return answer(400, "100005", "an Idempotency-Key is missing") }
        guard let form = try? RecordedForm(body: body, contentType: request.headers[.contentType] ?? "") else {
            return answer(400, "100002", "this is no form")
        }
        guard (try? form.text("TOKEN")) == token else { return answer(200, "100001", "the token is not valid") }
        switch await ledger.book(form, key: key, body: digest(body)) {
        case .booked(let effect):
            await ledger.untilReleased(effect.number)
            return answer(200, "000000", "stored", effect)
        case .known(let effect): return answer(200, "000000", "stored", effect, isReplay: true)
        case .otherBody: return answer(422, "100006", "this key came with another body")
        }
    }

    private func answer(
        _ status: Int, _ code: String, _ message: String, _ effect: Effect? = nil, isReplay: Bool = false
    ) -> HTTPResponse {
        let data = effect.map { #", "DATA": {"NUMBER": \#($0.number), "SHA256": "\#($0.fileDigest)"}"# } ?? ""
        let json = #"{"RETCODE": "\#(code)", "RETMSG": "\#(message)"\#(data)}"#
        var headers: [HTTPHeader: String] = [.contentType: "application/json"]
        if isReplay { headers[HTTPHeader("Idempotency-Replayed")] = "true" }
        return HTTPResponse(
            statusCode: HTTPStatusCode(status, phrase: status == 200 ? "OK" : "Refused"), headers: headers,
            body: Data(json.utf8))
    }
}

/// SHA-256 in hexadecimal digits.
func digest(_ bytes: [UInt8]) -> String {
    var sum = SHA256()
    sum.update(bytes.span)
    return sum.finish().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
