internal import CTestSupport

/// Serves one connection on its own thread: request after request, each with its ``Behaviour``.
struct ServerConnection {
    /// Whether the connection continues after a step.
    private enum Flow {
        case next
        case end
    }

    let core: ServerCore
    let number: Int
    let socket: ServerSocket

    private var requestsSeen = 0
    private var isDescriptorClosed = false

    init(core: ServerCore, number: Int, socket: ServerSocket) {
        self.core = core
        self.number = number
        self.socket = socket
    }

    mutating func run(_ arrival: LoopbackServer.Arrival) {
        switch arrival {
        case .serve: while serveRequest() == .next {}
        case .silent: _ = note(socket.hold())
        case .finish: _ = close(.finish)
        case .reset: _ = close(.reset)
        }
        if !isDescriptorClosed { cts_close(socket.descriptor) }
        core.state.update { $0.connections[number].isClosed = true }
    }

    private mutating func serveRequest() -> Flow {
        guard socket.waitReadable() == .done else { return .end }
        if let behaviour = core.takeBehaviourBeforeHead() {
            return perform(behaviour, index: nil)
        }
        let head: [UInt8]
        switch socket.receive(through: Array("\r\n\r\n".utf8), limit: 262_144) {
        case .bytes(let bytes): head = bytes
        case .peerEnded(let end): return note(.peerEnded(end))
        case .stopped: return .end
        case nil: return recordViolation("a request head has no end")
        }
        let lines = String(decoding: head.dropLast(4), as: UTF8.self).split(
            separator: "\r\n", omittingEmptySubsequences: false)
        let request = RecordedRequest(
            connection: number, numberOnConnection: requestsSeen, lines: lines.map(String.init))
        requestsSeen += 1
        guard request.lines[0].hasSuffix(" HTTP/1.1"), let body = BodyDecoder(request) else {
            return recordViolation("a request head is malformed: \(request.lines)")
        }
        let index = core.state.update { state in
            state.requests.append(request)
            if body.isAtEnd { state.requests[state.requests.count - 1].isComplete = true }
            return state.requests.count - 1
        }
        let behaviour = core.takeBehaviour(path: request.path)
        if core.isNextUnread { cts_delay_acknowledgements(socket.descriptor) }
        let flow = perform(behaviour, index: index, body: body, request: request)
        return flow == .next && request.value(of: "Connection")?.lowercased() == "close" ? close(.finish) : flow
    }

    // MARK: Steps

    /// The remaining state of a request while its steps are performed.
    private struct RequestState {
        let index: Int?
        let request: RecordedRequest?
        var body: BodyDecoder?
        var owesContinue: Bool
    }

    private mutating func perform(
        _ behaviour: Behaviour, index: Int?, body: BodyDecoder? = nil, request: RecordedRequest? = nil
    ) -> Flow {
        let expects = request?.value(of: "Expect")?.lowercased() == "100-continue"
        var state = RequestState(
            index: index, request: request, body: body,
            owesContinue: behaviour.expectation == .honoured && expects)
        if perform(behaviour.steps, &state) == .end { return .end }
        guard let body = state.body, !body.isAtEnd else { return .next }
        return note(socket.hold())
    }

    private mutating func perform(_ steps: [Behaviour.Step], _ state: inout RequestState) -> Flow {
        for step in steps where perform(step, &state) == .end { return .end }
        return .next
    }

    private mutating func perform(_ step: Behaviour.Step, _ state: inout RequestState) -> Flow {
        switch step {
        case .read(let count, let rate):
            return read(count, bytesPerSecond: rate, &state, to: nil)
        case .take(let count, let sink):
            return read(count, bytesPerSecond: nil, &state, to: sink)
        case .decide(let decide):
            guard let index = state.index else { return .next }
            return perform(decide(core.state.value.requests[index]), &state)
        case .ensure(let steps, let then):
            defer { then() }
            return perform(steps, &state)
        case .forgetBody:
            state.body = nil
            return .next
        case .wait(let gate):
            return note(socket.wait(for: gate) { _ = note(.peerEnded($0)) })
        case .send(let response):
            if let index = state.index { core.state.update { $0.requests[index].responseStatus = response.status } }
            guard note(socket.send(response.bytes)) == .next else { return .end }
            return response.closes ? close(.finish) : .next
        case .drip(let response, let piece, let pause):
            return drip(response, piece: piece, pause: pause)
        case .sendForever(let text):
            let bytes = Array(String(repeating: text, count: max(1, 16_384 / text.utf8.count)).utf8)
            while note(socket.send(bytes)) == .next {}
            return .end
        case .hold:
            return note(socket.hold())
        case .close(let closing):
            return close(closing)
        }
    }

    private func read(
        _ count: Int?, bytesPerSecond: Int?, _ state: inout RequestState, to sink: (@Sendable ([UInt8]) -> Void)?
    ) -> Flow {
        guard let index = state.index, var body = state.body else { return .next }
        defer { state.body = body }
        if state.owesContinue {
            state.owesContinue = false
            if note(socket.send(ScriptedResponse(100).bytes)) == .end { return .end }
        }
        return read(count, bytesPerSecond: bytesPerSecond, of: &body, into: index, to: sink)
    }

    private func read(
        _ count: Int?, bytesPerSecond: Int?, of body: inout BodyDecoder, into index: Int,
        to sink: (@Sendable ([UInt8]) -> Void)?
    ) -> Flow {
        let start = ContinuousClock.now
        // A hundred reads per second: smooth enough for a slow line, few enough to cost nothing.
        let chunkSize = bytesPerSecond.map { max(1, min($0 / 100, 65_536)) } ?? 65_536
        var received = 0
        while received < count ?? .max {
            switch body.next(limit: min(chunkSize, (count ?? .max) - received), from: socket) {
            case .bytes(let bytes):
                received += bytes.count
                sink?(bytes)
                record(bytes, index, keeps: sink == nil && core.keepsBodies, isComplete: body.isAtEnd)
            case .end(let trailers):
                core.state.update { state in
                    state.requests[index].trailers = trailers
                    state.requests[index].isComplete = true
                }
                return .next
            case .peerEnded(let end): return note(.peerEnded(end))
            case .stopped: return .end
            case .malformed(let problem): return recordViolation(problem)
            }
            guard let bytesPerSecond else { continue }
            let due = start + .nanoseconds(received * 1_000_000_000 / bytesPerSecond)
            if socket.pause(due - .now) == .stopped { return .end }
        }
        return .next
    }

    private func record(_ bytes: [UInt8], _ index: Int, keeps: Bool, isComplete: Bool) {
        core.state.update { state in
            if keeps { state.requests[index].body += bytes }
            state.requests[index].bodyBytesRead += bytes.count
            state.requests[index].digest.update(bytes[...])
            if isComplete { state.requests[index].isComplete = true }
        }
    }

    private mutating func drip(_ response: ScriptedResponse, piece: Int, pause: Duration) -> Flow {
        var rest = response.bytes[...]
        while !rest.isEmpty {
            if note(socket.send(Array(rest.prefix(piece)))) == .end { return .end }
            rest = rest.dropFirst(piece)
            if note(socket.pause(pause)) == .end { return .end }
        }
        return response.closes ? close(.finish) : .next
    }

    // MARK: Ends

    private mutating func close(_ closing: Behaviour.Closing) -> Flow {
        switch closing {
        case .finish:
            _ = cts_finish(socket.descriptor)
            _ = note(socket.discardUntilPeerEnds())
        case .abandon:
            break
        case .reset:
            cts_reset(socket.descriptor)
            isDescriptorClosed = true
        }
        return .end
    }

    private func recordViolation(_ text: String) -> Flow {
        core.state.update { $0.violations.append(text) }
        return .end
    }

    private func note(_ result: ServerSocket.WaitResult) -> Flow {
        switch result {
        case .done: return .next
        case .stopped: return .end
        case .peerEnded(let end):
            core.state.update { state in
                guard state.connections[number].peerEnd == nil else { return }
                state.connections[number].peerEnd = end
                state.connections[number].peerEndedAt = .now
            }
            return .end
        }
    }
}
