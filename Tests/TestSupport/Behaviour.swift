/// What a ``LoopbackServer`` does with one request: a list of steps, so that a fault is a value.
///
/// ```swift
/// let server = try LoopbackServer(
///     .reset(afterBodyBytes: 1_000_000),          // the first request
///     .respond(503, headers: [("Retry-After", "0")]),
///     otherwise: .respond(200))                    // all that follow
/// ```
///
/// After the last step the next request is awaited on the same connection. A body that was not read by then is not
/// read any more: the connection stays open until the peer closes it.
package struct Behaviour: Sendable {
    /// One thing to do.
    package enum Step: Sendable {
        /// Reads so many bytes of the body (`nil`: all that is left), at most so many a second.
        case read(Int? = nil, bytesPerSecond: Int? = nil)
        /// Reads so many bytes of the body (`nil`: all that is left) and hands them on instead of keeping them.
        case take(Int? = nil, @Sendable ([UInt8]) -> Void)
        /// Does what comes of a look at the request as far as it was read.
        case decide(@Sendable (RecordedRequest) -> [Step])
        /// Does these steps and then calls, however they ended.
        case ensure([Step], then: @Sendable () -> Void)
        /// Takes it that the client will not send the body after all.
        case forgetBody
        /// Waits until the test opens the gate.
        case wait(Gate)
        /// Sends bytes; closes after them when the answer says `Connection: close`.
        case send(Answer)
        /// Sends bytes in pieces with a pause after each.
        case drip(Answer, piece: Int, pause: Duration)
        /// Sends the same bytes over and over until the peer has enough.
        case sendForever(String)
        /// Reads nothing and sends nothing until the peer closes.
        case hold
        /// Ends the connection.
        case close(Closing)
    }

    /// How a connection ends.
    package enum Closing: Sendable {
        /// With a FIN; what the peer still sends is thrown away until it closes too.
        case finish
        /// As close(2) does: a RST when bytes of the peer lie unread, else a FIN. What a crashed server looks like.
        case abandon
        /// With a RST.
        case reset
    }

    /// What is done about `Expect: 100-continue`.
    package enum Expectation: Sendable {
        /// `100 Continue` is sent before the first byte of the body is read.
        case honoured
        /// Nothing is sent; the body is awaited all the same.
        case ignored
    }

    package var steps: [Step]
    package var expectation = Expectation.honoured
    /// Whether the steps start when the first byte of the request can be read, before any is.
    package var startsBeforeHead = false

    package init(_ steps: [Step]) { self.steps = steps }
}

extension Behaviour {
    // MARK: What servers do

    /// Reads the whole body, then answers.
    package static func respond(
        _ status: Int = 200, headers: [(String, String)] = [], body: String = ""
    ) -> Behaviour {
        .respond(Answer(status, headers: headers, text: body))
    }

    /// Reads the whole body, then answers.
    package static func respond(_ answer: Answer) -> Behaviour { Behaviour([.read(), .send(answer)]) }

    /// Sends interim responses (RFC 9110 section 15.2) after the body, then the final one.
    package static func respond(_ answer: Answer, afterInterim statuses: [Int]) -> Behaviour {
        Behaviour([.read()] + statuses.map { .send(Answer($0)) } + [.send(answer)])
    }

    /// Sends the answer slowly.
    package static func drip(_ answer: Answer, piece: Int, pause: Duration) -> Behaviour {
        Behaviour([.read(), .drip(answer, piece: piece, pause: pause)])
    }

    /// Answers before a byte of the body is read and goes on as told, with the body unread.
    ///
    /// After `.close(.finish)` and with `.hold` the answer is always read. After `.close(.abandon)` the RST may overtake
    /// it (RFC 9112 section 9.6), as it does with real servers, and either is to be expected.
    package static func early(_ answer: Answer, then: Step) -> Behaviour { Behaviour([.send(answer), then]) }

    /// Answers `Expect: 100-continue` with a final status; the body is not sent then.
    package static func refuse(_ status: Int = 417) -> Behaviour {
        Behaviour([.send(Answer(status)), .forgetBody])
    }

    // MARK: What goes wrong

    /// Reads so many bytes of the body and no more; the connection stays open.
    package static func stall(afterBodyBytes count: Int) -> Behaviour { Behaviour([.read(count), .hold]) }

    /// Reads the whole body and never answers; the connection stays open.
    package static let neverAnswer = Behaviour([.read(), .hold])

    /// Reads so many bytes of the body, then ends the connection.
    package static func close(afterBodyBytes count: Int, _ closing: Closing = .finish) -> Behaviour {
        Behaviour([.read(count), .close(closing)])
    }

    /// Reads so many bytes of the body, then resets the connection.
    package static func reset(afterBodyBytes count: Int) -> Behaviour { close(afterBodyBytes: count, .reset) }

    /// Reads the whole body, then ends the connection without an answer.
    package static func closeWithoutAnswer(_ closing: Closing = .finish) -> Behaviour {
        Behaviour([.read(), .close(closing)])
    }

    /// Reads the whole body, sends these bytes and ends the connection: a head that is cut, garbage, nothing.
    package static func answerCut(_ text: String, _ closing: Closing = .finish) -> Behaviour {
        Behaviour([.read(), .send(.raw(text)), .close(closing)])
    }

    /// Sends an answer that announces more body than comes.
    package static func bodyCut(announced: Int, sent: String, _ closing: Closing = .finish) -> Behaviour {
        answerCut("HTTP/1.1 200 OK\r\nContent-Length: \(announced)\r\n\r\n\(sent)", closing)
    }

    /// Sends header lines without end.
    package static let endlessHead = Behaviour([
        .read(), .send(.raw("HTTP/1.1 200 OK\r\n")), .sendForever("X-Filler: 0123456789abcdef\r\n"),
    ])

    /// Sends a body without end, framed by the close that never comes.
    package static let endlessBody = Behaviour([
        .read(), .send(.raw("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")), .sendForever("0123456789abcdef"),
    ])

    /// Ends a kept-alive connection when the next request arrives, before a byte of it is read.
    package static func closeUnderRequest(_ closing: Closing = .abandon) -> Behaviour {
        var behaviour = Behaviour([.close(closing)])
        behaviour.startsBeforeHead = true
        return behaviour
    }

    // MARK: Variations

    /// Waits at the gate before the first byte goes out, which is after the body where that is read.
    package func held(at gate: Gate) -> Behaviour {
        var copy = self
        let place = steps.firstIndex { step in
            switch step {
            case .read, .take, .forgetBody, .wait: false
            default: true
            }
        }
        copy.steps.insert(.wait(gate), at: place ?? steps.endIndex)
        return copy
    }

    /// Reads so many bytes of the body first and waits at the gate before it goes on.
    package func paused(afterBodyBytes count: Int, until gate: Gate) -> Behaviour {
        var copy = self
        copy.steps.insert(contentsOf: [.read(count), .wait(gate)], at: 0)
        return copy
    }

    /// Reads at most so many bytes of the body a second.
    package func reading(bytesPerSecond: Int) -> Behaviour {
        var copy = self
        copy.steps = steps.map { step in
            guard case .read(let count, _) = step else { return step }
            return .read(count, bytesPerSecond: bytesPerSecond)
        }
        return copy
    }

    /// Lets `Expect: 100-continue` go unanswered.
    package func ignoringExpect() -> Behaviour {
        var copy = self
        copy.expectation = .ignored
        return copy
    }
}
