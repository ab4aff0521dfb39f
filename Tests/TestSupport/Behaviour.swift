internal import CTestSupport

/// The behavior of a ``LoopbackServer`` for one request: a list of steps, so that a fault is a value.
///
/// ```swift
/// let server = try LoopbackServer(
///     .reset(afterBodyBytes: 1_000_000),          // the first request
///     .respond(503, headers: [("Retry-After", "0")]),
///     otherwise: .respond(200))                    // all that follow
/// ```
///
/// After the last step the server awaits the next request on the same connection. A body not read by then stays
/// unread: the connection remains open until the peer closes it.
package struct Behaviour: Sendable {
    /// A single step.
    package enum Step: Sendable {
        /// Reads the given number of body bytes (`nil` for the rest), optionally limited to a rate.
        case read(Int? = nil, bytesPerSecond: Int? = nil)
        /// Reads the given number of body bytes (`nil` for the rest) and passes them on instead of storing them.
        case take(Int? = nil, @Sendable ([UInt8]) -> Void)
        /// Performs the steps that a closure returns for the request as read so far.
        case decide(@Sendable (RecordedRequest) -> [Step])
        /// Performs these steps and then calls the closure, however they ended.
        case ensure([Step], then: @Sendable () -> Void)
        /// Assumes that the client will not send the body.
        case forgetBody
        /// Waits until the test opens the gate.
        case wait(Gate)
        /// Sends bytes, and closes the connection if the response says `Connection: close`.
        case send(ScriptedResponse)
        /// Sends bytes in pieces with a pause after each.
        case drip(ScriptedResponse, piece: Int, pause: Duration)
        /// Sends the same bytes repeatedly until the peer closes.
        case sendForever(String)
        /// Neither reads nor sends anything until the peer closes.
        case hold
        /// Ends the connection.
        case close(Closing)
    }

    /// The way to close a connection.
    package enum Closing: Sendable {
        /// With a FIN; data from the peer is discarded until it closes, too.
        case finish
        /// Like close(2): a RST if unread bytes remain, otherwise a FIN. This is what a crashed server looks like.
        case abandon
        /// With a RST.
        case reset
    }

    /// The handling of `Expect: 100-continue`.
    package enum Expectation: Sendable {
        /// Sends `100 Continue` before reading the first byte of the body.
        case honoured
        /// Sends nothing, but awaits the body.
        case ignored
    }

    package var steps: [Step]
    package var expectation = Expectation.honoured
    /// Whether the steps start when the first byte of the request is readable, before it is read.
    package var startsBeforeHead = false

    package init(_ steps: [Step]) { self.steps = steps }
}

extension Behaviour {
    // MARK: Server behavior

    /// Reads the whole body and then responds.
    package static func respond(
        _ status: Int = 200, headers: [(String, String)] = [], body: String = ""
    ) -> Behaviour {
        .respond(ScriptedResponse(status, headers: headers, text: body))
    }

    /// Reads the whole body and then responds.
    package static func respond(_ response: ScriptedResponse) -> Behaviour { Behaviour([.read(), .send(response)]) }

    /// Sends interim responses (RFC 9110, section 15.2) after the body, and then the final one.
    package static func respond(_ response: ScriptedResponse, afterInterim statuses: [Int]) -> Behaviour {
        Behaviour([.read()] + statuses.map { .send(ScriptedResponse($0)) } + [.send(response)])
    }

    /// Sends the response slowly.
    package static func drip(_ response: ScriptedResponse, piece: Int, pause: Duration) -> Behaviour {
        Behaviour([.read(), .drip(response, piece: piece, pause: pause)])
    }

    /// Responds before reading the body and continues with the given step, with the body unread.
    ///
    /// With `.close(.finish)` and `.hold` the client always receives the response. With `.close(.abandon)` the RST
    /// may overtake it (RFC 9112, section 9.6), as with real servers, so tests must accept both results.
    package static func early(_ response: ScriptedResponse, then: Step) -> Behaviour {
        Behaviour([.send(response), then])
    }

    /// Responds to `Expect: 100-continue` with a final status; the body is not sent.
    package static func rejectExpect(_ status: Int = 417) -> Behaviour {
        Behaviour([.send(ScriptedResponse(status)), .forgetBody])
    }

    // MARK: Faults

    /// Reads the given number of body bytes and no more; the connection stays open.
    package static func stall(afterBodyBytes count: Int) -> Behaviour { Behaviour([.read(count), .hold]) }

    /// Reads the whole body and never responds; the connection stays open.
    package static let neverRespond = Behaviour([.read(), .hold])

    /// Reads the given number of body bytes and then closes the connection.
    package static func close(afterBodyBytes count: Int, _ closing: Closing = .finish) -> Behaviour {
        Behaviour([.read(count), .close(closing)])
    }

    /// Reads the given number of body bytes and then resets the connection.
    package static func reset(afterBodyBytes count: Int) -> Behaviour { close(afterBodyBytes: count, .reset) }

    /// Reads the whole body and then closes the connection without a response.
    package static func closeWithoutResponse(_ closing: Closing = .finish) -> Behaviour {
        Behaviour([.read(), .close(closing)])
    }

    /// Reads the whole body, sends these bytes and closes the connection: a truncated head, garbage, nothing.
    package static func truncatedResponse(_ text: String, _ closing: Closing = .finish) -> Behaviour {
        Behaviour([.read(), .send(.raw(text)), .close(closing)])
    }

    /// Sends a response that announces more body than it contains.
    package static func truncatedResponseBody(announced: Int, sent: String, _ closing: Closing = .finish) -> Behaviour {
        truncatedResponse("HTTP/1.1 200 OK\r\nContent-Length: \(announced)\r\n\r\n\(sent)", closing)
    }

    /// Sends header lines indefinitely.
    package static let endlessHead = Behaviour([
        .read(), .send(.raw("HTTP/1.1 200 OK\r\n")), .sendForever("X-Filler: 0123456789abcdef\r\n"),
    ])

    /// Sends a body indefinitely, delimited by a close that never happens.
    package static let endlessBody = Behaviour([
        .read(), .send(.raw("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")), .sendForever("0123456789abcdef"),
    ])

    /// Closes a kept-alive connection when the next request arrives, before reading it.
    package static func closeDuringRequest(_ closing: Closing = .abandon) -> Behaviour {
        var behaviour = Behaviour([.close(closing)])
        behaviour.startsBeforeHead = true
        return behaviour
    }

    // MARK: Variations

    /// Waits at the gate before sending the first byte, that is after reading the body if it is read.
    package func delayed(until gate: Gate) -> Behaviour {
        var copy = self
        let index = steps.firstIndex { step in
            switch step {
            case .read, .take, .forgetBody, .wait: false
            default: true
            }
        }
        copy.steps.insert(.wait(gate), at: index ?? steps.endIndex)
        return copy
    }

    /// Reads the given number of body bytes first and waits at the gate before continuing.
    package func paused(afterBodyBytes count: Int, until gate: Gate) -> Behaviour {
        var copy = self
        copy.steps.insert(contentsOf: [.read(count), .wait(gate)], at: 0)
        return copy
    }

    /// Limits the rate at which the body is read.
    package func reading(bytesPerSecond: Int) -> Behaviour {
        var copy = self
        copy.steps = steps.map { step in
            guard case .read(let count, _) = step else { return step }
            return .read(count, bytesPerSecond: bytesPerSecond)
        }
        return copy
    }

    /// Sends no response to `Expect: 100-continue`.
    package func ignoringExpect() -> Behaviour {
        var copy = self
        copy.expectation = .ignored
        return copy
    }
}

/// A gate that a test opens and a server thread waits at. It expresses "later" without a clock.
///
/// ```swift
/// let gate = Gate()
/// let server = try LoopbackServer(.respond(200).delayed(until: gate))
/// // … look at what the client does while it has no response …
/// gate.open()
/// ```
package final class Gate: Sendable {
    let event: Int32

    package init() {
        event = cts_event_make()
        precondition(event >= 0, "no descriptor is left for a gate")
    }

    deinit { cts_close(event) }

    /// Opens the gate permanently, for all waiters.
    package func open() { cts_event_raise(event) }

    /// Blocks this thread until the gate is open. Not for tasks, whose threads are limited.
    package func wait() { _ = cts_wait(-1, 0, event, -1, -1) }
}
