/// A backend that gives tickets, and the object store that takes them, with faults for each step.
///
/// The object key of a ticket depends on the idempotency key of the request, and each ticket has a new signature. The
/// confirmation has one effect for each idempotency key.
package final class TicketServer: Sendable {
    /// A request of a client.
    package enum Step: Sendable, Hashable {
        case ask
        case put
        case confirm
    }

    /// The fault of one request.
    package enum Fault: Sendable {
        /// The request has its effect, and its response is lost.
        case loseResponse
        /// The connection is reset after this number of body bytes.
        case cut(Int)
        /// The response is this one, without an effect.
        case respond(Int, String)
        /// The ticket expires when it arrives at the store, or is issued with a validity of one second.
        case expire
        /// No response, and no effect.
        case hold
        /// None.
        case pass
    }

    /// The state of backend and store.
    package struct State: Sendable {
        package var faults: [Step: [Fault]] = [:]
        /// The number of requests that each step received.
        package var requests: [Step: Int] = [:]
        /// The signatures that the store accepts.
        package var signatures: Set<String> = []
        /// The object key of each idempotency key of a request for a ticket.
        package var keys: [String: String] = [:]
        /// The objects and the number of times each was put.
        package var objects: [String: (bytes: [UInt8], puts: Int)] = [:]
        /// The number of confirmations by idempotency key, and of their effects by object key.
        package var confirmations: [String: Int] = [:]
        package var effects: [String: Int] = [:]
        /// Requests that no correct client sends.
        package var violations: [String] = []
    }

    /// The content of the tickets.
    package struct Settings: Sendable {
        /// Whether a ticket is a form instead of a `PUT`.
        package var isForm = false
        /// Whether each ticket has a new object key, regardless of the idempotency key.
        package var changesKeys = false
        /// Whether the backend returns the first ticket again.
        package var repeatsTickets = false

        package init() {}
    }

    package let server: LoopbackServer
    private let shared: Watched<State>

    package init(_ settings: Settings = Settings(), faults: [Step: [Fault]] = [:]) throws {
        let shared = Watched(State(faults: faults))
        self.shared = shared
        let port = Watched(0)
        server = try LoopbackServer(
            otherwise: Behaviour([
                .decide { request in
                    let step: Step =
                        request.path == "/tickets" ? .ask : request.path.hasPrefix("/confirm") ? .confirm : .put
                    let fault = shared.update { state -> Fault? in
                        state.requests[step, default: 0] += 1
                        guard state.faults[step]?.isEmpty == false else { return nil }
                        return state.faults[step]?.removeFirst()
                    }
                    switch fault {
                    case .cut(let count)?: return [.read(count), .close(.reset)]
                    case .respond(let status, let text)?: return [.read(), .send(ScriptedResponse(status, text: text))]
                    case .hold?: return [.read(), .hold]
                    default: break
                    }
                    let isLost = if case .loseResponse? = fault { true } else { false }
                    let expires = if case .expire? = fault { true } else { false }
                    return [
                        .read(),
                        .decide { request in
                            let response = shared.update { state in
                                switch step {
                                case .ask: state.ask(request, settings, port.value, isShort: expires)
                                case .put: state.put(request, settings, expires: expires)
                                case .confirm: state.confirm(request)
                                }
                            }
                            return isLost ? [.close(.reset)] : [.send(response)]
                        },
                    ]
                }
            ]))
        port.update { [server] in $0 = server.port }
    }

    package var state: State { shared.value }
    /// The number of requests so far.
    package var requestCount: Int { state.requests.values.reduce(0, +) }

    /// Waits until the state satisfies the condition.
    package func waitUntil(_ isMet: @escaping @Sendable (State) -> Bool) async throws {
        _ = try await shared.waitUntil(isMet)
    }

    /// Removes all faults.
    package func clearFaults() { shared.update { $0.faults = [:] } }

    /// The bytes that every signature begins with: no printed text may contain them.
    package static let secret = "c2lnbmF0dXJl"

    /// The response of S3 to an expired presigned URL.
    package static let expired =
        "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"
}

extension TicketServer.State {
    fileprivate mutating func ask(
        _ request: RecordedRequest, _ settings: TicketServer.Settings, _ port: Int, isShort: Bool
    ) -> ScriptedResponse {
        let idempotencyKey = request.value(of: "Idempotency-Key") ?? ""
        if idempotencyKey.isEmpty { violations.append("A request for a ticket has no key.") }
        let known = settings.changesKeys ? nil : keys[idempotencyKey]
        let key = known ?? "object-\(settings.changesKeys ? requests[.ask] ?? 0 : keys.count + 1)"
        keys[idempotencyKey] = key
        let signature = TicketServer.secret + (settings.repeatsTickets ? "1" : "\(requests[.ask] ?? 0)")
        signatures.insert(signature)
        let place =
            settings.isForm
            ? #""uploadUrl":"http://127.0.0.1:\#(port)/store","fields":{"key":"\#(key)","signature":"\#(signature)"}"#
            : #""uploadUrl":"http://127.0.0.1:\#(port)/store/\#(key)?X-Amz-Signature=\#(signature)""#
        return ScriptedResponse(
            200,
            text:
                #"{"data":{\#(place),"method":"\#(settings.isForm ? "POST" : "PUT")","expiresIn":\#(isShort ? 1 : 3_600),"#
                + #""headers":{"Host":"127.0.0.1:\#(port)","x-amz-meta-tag":["7"]},"id":"\#(key)"}}"#)
    }

    fileprivate mutating func put(
        _ request: RecordedRequest, _ settings: TicketServer.Settings, expires: Bool
    ) -> ScriptedResponse {
        for name in ["Authorization", "X-Session", "Cookie"] where request.value(of: name) != nil {
            violations.append("The store received \(name).")
        }
        var key = String(request.path.dropFirst("/store/".count))
        var signature = String(request.target.split(separator: "=").last ?? "")
        var bytes = request.body
        if settings.isForm {
            let text = String(decoding: bytes, as: UTF8.self)
            let values = ["key", "signature", "file"].map { Self.part($0, of: text) }
            (key, signature) = (values[0], values[1])
            bytes = Array(values[2].utf8)
        } else {
            if request.value(of: "Content-Type") != nil { violations.append("The store received a content type.") }
        }
        if request.value(of: "x-amz-meta-tag") != "7" { violations.append("A header field of the ticket is missing.") }
        if expires { signatures.remove(signature) }
        guard signatures.contains(signature) else { return ScriptedResponse(403, text: TicketServer.expired) }
        objects[key] = (bytes, (objects[key]?.puts ?? 0) + 1)
        return ScriptedResponse(200, headers: [("ETag", "\"etag-\(key)\"")])
    }

    fileprivate mutating func confirm(_ request: RecordedRequest) -> ScriptedResponse {
        let key = String(request.path.dropFirst("/confirm/".count))
        let idempotencyKey = request.value(of: "Idempotency-Key") ?? ""
        if idempotencyKey.isEmpty { violations.append("A confirmation has no key.") }
        if keys[idempotencyKey] != nil { violations.append("A confirmation has the key of a request for a ticket.") }
        if objects[key] == nil { violations.append("\(key) was confirmed and is not stored.") }
        let body = String(decoding: request.body, as: UTF8.self)
        if body != #"{"etag":"\"etag-\#(key)\""}"# { violations.append("The confirmation is \(body).") }
        confirmations[idempotencyKey, default: 0] += 1
        if confirmations[idempotencyKey] == 1 { effects[key, default: 0] += 1 }
        return ScriptedResponse(200, text: #"{"ok":true}"#)
    }

    private static func part(_ name: String, of text: String) -> String {
        guard let start = text.firstRange(of: "name=\"\(name)\"")?.upperBound,
            let begin = text[start...].firstRange(of: "\r\n\r\n")?.upperBound,
            let end = text[begin...].firstRange(of: "\r\n--")?.lowerBound
        else { return "" }
        return String(text[begin..<end])
    }
}

/// The faults of one test of uploads with tickets.
package struct TicketFaults: Sendable, CustomStringConvertible {
    package let description: String
    package let faults: [TicketServer.Step: [TicketServer.Fault]]

    /// One or more faults at each step, in the order of its requests. Each row ends with the object delivered once.
    package static let rows: [TicketFaults] = [
        row("no fault", [:]),
        row("the ticket has expired when it is received", [.ask: [.expire]]),
        row("the response with the ticket is lost", [.ask: [.loseResponse]]),
        row("the request for the ticket is cut", [.ask: [.cut(0)]]),
        row("the store reports the ticket as expired", [.put: [.expire]]),
        row("the store responds with 401", [.put: [.respond(401, #"{"error":"expired token"}"#)]]),
        row("the store responds with 410", [.put: [.respond(410, "")]]),
        row("the temporary keys have expired", [.put: [.respond(400, "<Error><Code>ExpiredToken</Code></Error>")]]),
        row("R2 reports the ticket as expired", [.put: [.respond(403, "<Error><Code>ExpiredRequest</Code></Error>")]]),
        row("the put is cut, and the ticket expires meanwhile", [.put: [.cut(1_000), .expire]]),
        row("the response of the store is lost", [.put: [.loseResponse]]),
        row("the response of the store is lost, and the ticket expires meanwhile", [.put: [.loseResponse, .expire]]),
        row("the store is overloaded, and the ticket expires meanwhile", [.put: [.respond(503, ""), .expire]]),
        row("two tickets expire in succession", [.put: [.expire, .expire]]),
        row("the new ticket is short, too", [.ask: [.expire, .loseResponse], .put: [.expire]]),
        row("the response to the confirmation is lost", [.confirm: [.loseResponse]]),
        row("the confirmation is cut", [.confirm: [.cut(0)]]),
        row("the backend is overloaded at the confirmation", [.confirm: [.respond(503, "")]]),
        row(
            "a fault at each step",
            [.ask: [.loseResponse], .put: [.expire, .loseResponse], .confirm: [.loseResponse, .respond(503, "")]]),
    ]

    private static func row(
        _ name: String, _ faults: [TicketServer.Step: [TicketServer.Fault]]
    ) -> TicketFaults {
        TicketFaults(description: name, faults: faults)
    }
}
