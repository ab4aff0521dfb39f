internal import WaybillCore

extension ResumableServer {
    /// The state shared by the threads of a ``ResumableServer``. It translates rulings and faults into the steps of a
    /// ``Behaviour``.
    final class Core: Sendable {
        typealias Step = Behaviour.Step

        let settings: Locked<Settings>
        let state = Watched(State())
        let application = Locked<@Sendable (Run) -> ScriptedResponse>({ _ in ScriptedResponse(200, text: "stored") })

        init(_ settings: Settings) { self.settings = Locked(settings) }

        /// A request in flight.
        private struct Exchange: Sendable {
            let number: Int
            let call: Call
            let plan: Plan
            let rules: Rules
        }

        /// Returns the steps for a request whose head has arrived.
        func begin(_ request: RecordedRequest) -> [Step] {
            let settings = settings.withLock { $0 }
            let exchange = state.update { state in
                let call = Call(request, settings, state)
                let (number, plan) = state.enter(call)
                var rules = Rules(number: number, call: call, settings: settings)
                if let cut = plan.cut { rules.keeps = cut.keeping.count(of: cut.bytes) }
                return Exchange(number: number, call: call, plan: plan, rules: rules)
            }
            return [.ensure(steps(exchange)) { self.leave(exchange, nil) }]
        }

        private func steps(_ exchange: Exchange) -> [Step] {
            if let early = exchange.plan.early { return respondEarly(exchange, early) }
            if let response = exchange.plan.replacement { return respond(exchange, response) }
            return perform(exchange, state.update { exchange.rules.judge(&$0) })
        }

        /// Performs the ruling on a head.
        private func perform(_ exchange: Exchange, _ ruling: Ruling) -> [Step] {
            switch ruling {
            case .respond(let response): return respond(exchange, response)
            case .receive(let interim): return receive(exchange, interim)
            case .run, .evicted:
                return framed(
                    exchange, before: [], body: [discard(exchange, nil)], after: [], then: end(exchange, ruling))
            }
        }

        // MARK: Content

        /// Receives content and performs the request.
        private func receive(_ exchange: Exchange, _ interim: ScriptedResponse?) -> [Step] {
            let waits = exchange.rules.settings.storesOnlyWholeRequests
            let announcement = interim.map { [self.interim(exchange, $0)] } ?? []
            let commit = Step.decide { request in
                self.end(exchange, self.state.update { exchange.rules.commit(trailers: request.trailers, &$0) })
            }
            return framed(
                exchange, before: waits ? [] : announcement,
                body: pieces(exchange, remaining: exchange.plan.cut?.bytes), after: waits ? announcement : [],
                then: [commit])
        }

        /// Discards content, if there is any, and responds.
        private func respond(_ exchange: Exchange, _ response: ScriptedResponse) -> [Step] {
            let end = tail(exchange, response)
            guard exchange.call.expectsContinue, exchange.call.hasContent, exchange.plan.cut == nil else {
                let body = discard(exchange, exchange.plan.cut?.bytes)
                return framed(exchange, before: [], body: [body], after: [], then: end)
            }
            return framed(exchange, before: [], body: [], after: [], then: end + [.forgetBody])
        }

        /// Returns the steps of a request with its scripted interim responses, gates, and its cut or pause.
        private func framed(
            _ exchange: Exchange, before: [Step], body: [Step], after: [Step], then: [Step]
        ) -> [Step] {
            let plan = exchange.plan
            let steps = before + plan.interimBefore.map { .send($0) } + body
            if let cut = plan.cut { return steps + [close(exchange, cut.closing)] }
            if plan.holds { return steps + [.hold] }
            return steps + after + plan.interimAfter.map { .send($0) } + plan.gatesBefore.map { .wait($0) } + then
        }

        private func respondEarly(_ exchange: Exchange, _ early: Plan.Early) -> [Step] {
            let body = early.bytes > 0 ? [discard(exchange, early.bytes)] : []
            let rest: [Step] = early.closing.map { [.close($0)] } ?? [.hold]
            return body + tail(exchange, early.response) + rest
        }

        private func discard(_ exchange: Exchange, _ count: Int?) -> Step {
            .take(count) { bytes in self.state.update { $0.requests[exchange.number].bodyBytes += bytes.count } }
        }

        /// Returns the steps that receive content, with interim responses in between. The list is built in portions,
        /// because the length of chunked content is unknown.
        private func pieces(_ exchange: Exchange, remaining: Int?) -> [Step] {
            let settings = exchange.rules.settings
            guard let every = settings.interimEvery, every > 0, exchange.call.dialect?.interopVersion != nil,
                !settings.storesOnlyWholeRequests
            else { return [take(exchange, remaining)] }
            var steps: [Step] = []
            var left = remaining ?? .max
            for _ in 0..<256 where left > 0 {
                steps += [take(exchange, min(every, left)), .decide { _ in self.progress(exchange) }]
                left -= min(every, left)
            }
            let rest = remaining.map { _ in left }
            return steps + [
                .decide { request in
                    request.isComplete || rest == 0 ? [] : self.pieces(exchange, remaining: rest)
                }
            ]
        }

        private func take(_ exchange: Exchange, _ count: Int?) -> Step {
            .take(count) { bytes in self.state.update { $0.take(bytes, exchange.number) } }
        }

        /// Returns an interim response with the offset if it has advanced since the last one.
        private func progress(_ exchange: Exchange) -> [Step] {
            let offset: Int? = state.update { state in
                guard let transfer = state.transfers[exchange.number], let index = transfer.upload,
                    state.uploads[index].owner == exchange.number, state.uploads[index].offset > transfer.reported
                else { return nil }
                state.transfers[exchange.number]!.reported = state.uploads[index].offset
                return state.uploads[index].offset
            }
            return offset.map {
                let version = exchange.call.dialect?.interopVersion ?? 8
                return [
                    interim(
                        exchange,
                        ScriptedResponse(
                            104,
                            headers: [
                                ("Upload-Offset", "\($0)"), ("Upload-Draft-Interop-Version", "\(version)"),
                            ]))
                ]
            } ?? []
        }

        private func interim(_ exchange: Exchange, _ response: ScriptedResponse) -> Step {
            .decide { _ in
                self.state.update { $0.requests[exchange.number].interims += 1 }
                return [.send(response)]
            }
        }

        // MARK: Ends

        private func end(_ exchange: Exchange, _ ruling: Ruling) -> [Step] {
            switch ruling {
            case .respond(let response): return tail(exchange, response)
            case .receive: return []
            case .evicted: return [close(exchange, .reset)]
            case .run(let run, let decoration):
                let response = decoration.applied(to: application.withLock { $0 }(run))
                if let upload = decoration.upload { state.update { $0.uploads[upload].response = response } }
                return tail(exchange, response)
            }
        }

        /// Returns the steps that send the response of a performed request, or a part of it.
        private func tail(_ exchange: Exchange, _ given: ScriptedResponse) -> [Step] {
            let plan = exchange.plan
            var response = plan.changes.reduce(plan.finalResponse ?? given) { $0.setting($1.name, $1.value) }
            if exchange.call.request.method == "HEAD" { response = response.withoutContent }
            let final = response
            let end = Step.decide { request in
                // The end is recorded first, because the client may inspect the records right after the response.
                self.leave(exchange, plan.end.sends ? final.status : nil, isWhole: request.isComplete)
                switch plan.end {
                case .respond: return [.send(final)]
                case .close(let closing): return [.close(closing)]
                case .truncateHead:
                    let half = final.bytes.prefix((final.headSize ?? final.bytes.count) / 2)
                    return [.send(.raw(String(decoding: half, as: UTF8.self))), .close(.finish)]
                }
            }
            return plan.gatesAfter.map { .wait($0) } + [end]
        }

        private func close(_ exchange: Exchange, _ closing: Behaviour.Closing) -> Step {
            .decide { request in
                self.leave(exchange, nil, isWhole: request.isComplete)
                return [.close(closing)]
            }
        }

        private func leave(_ exchange: Exchange, _ status: Int?, isWhole: Bool = false) {
            state.update { $0.leave(exchange.number, status: status, isWhole: isWhole) }
        }
    }
}

extension ResumableServer.Plan.End {
    /// Whether the response is sent completely.
    fileprivate var sends: Bool {
        if case .respond = self { true } else { false }
    }
}
