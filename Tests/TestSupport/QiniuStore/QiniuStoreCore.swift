internal import CTestSupport
internal import WaybillCore

/// The state shared by the threads of a ``QiniuStore``. Each request begins and ends here.
final class QiniuStoreCore: Sendable {
    let settings: QiniuStoreSettings
    let state = Watched(QiniuState())
    let ports = Locked<[Int]>([])
    let gate = Locked<Gate?>(nil)

    init(_ settings: QiniuStoreSettings) { self.settings = settings }

    /// A request in flight.
    private struct Exchange: Sendable {
        let number: Int
        let call: QiniuCall
        var fault: QiniuFault?

        var requestID: String { "reqid-\(number)" }
    }

    /// Returns the steps for a request whose head has arrived.
    func begin(_ request: RecordedRequest, host: Int) -> [Behaviour.Step] {
        let exchange = enter(QiniuCall(request), host: host)
        let rest: [Behaviour.Step]
        switch exchange.fault {
        case .drop(let count)?: rest = [take(count, exchange), .close(.reset)]
        case .stall(let count)?: rest = [take(count, exchange), .hold]
        default: rest = serve(exchange)
        }
        return [.ensure(rest) { self.leave(exchange) }]
    }

    private func take(_ count: Int, _ exchange: Exchange) -> Behaviour.Step {
        .take(count) { bytes in self.count(exchange, bytes.count) }
    }

    private func serve(_ exchange: Exchange) -> [Behaviour.Step] {
        let isWhole = exchange.call.operation == .form || exchange.call.operation == .complete
        let intake = QiniuIntake(keepsUpTo: isWhole ? 64 << 20 : settings.keepsBodiesUpTo)
        let hold = gate.withLock { $0 }.map { [Behaviour.Step.wait($0)] } ?? []
        return [
            .take(nil) { bytes in
                intake.take(bytes)
                self.count(exchange, bytes.count)
            }
        ] + hold + [.decide { _ in self.finish(exchange, intake.stored) }]
    }

    private func finish(_ exchange: Exchange, _ body: QiniuBytes) -> [Behaviour.Step] {
        switch exchange.fault {
        case .refuse(let status, let message)?: return [.send(refuse(exchange, QiniuErrorResponse(status, message)))]
        case .forget?: return [.send(refuse(exchange, .noSuchUpload))]
        case .captivePortal?:
            let page = "<html><body>Please log in to the network of the hotel.</body></html>"
            return [
                .send(end(exchange, 200, ScriptedResponse(200, headers: [("Content-Type", "text/html")], text: page)))
            ]
        default: break
        }
        if exchange.call.operation == .regions { return [.send(answer(exchange, 200, regions(exchange.call)))] }
        let settings = settings(exchange)
        let work = QiniuWork(
            call: exchange.call, settings: settings, gate: QiniuAuthenticator(settings: settings), body: body)
        switch state.update({ state in Result { try work.perform(&state) } }) {
        case .failure(let error): return [.send(refuse(exchange, error as! QiniuErrorResponse))]
        case .success(let text): return reply(exchange, text)
        }
    }

    /// Returns the response to a request that was performed.
    private func reply(_ exchange: Exchange, _ text: String) -> [Behaviour.Step] {
        switch exchange.fault {
        case .storeThenDrop?:
            leave(exchange)
            return [.close(.reset)]
        case .callbackFailed?:
            let refusal = QiniuErrorResponse(579, #"{"callback_url":"http://backend.example/","callback_bodyType":""}"#)
            return [.send(refuse(exchange, refusal))]
        case .wrongHash?:
            return [.send(answer(exchange, 200, #"{"hash":"\#(QiniuBytes(of: [1, 2, 3]).etag)","key":"k"}"#))]
        case .wrongMD5?:
            return [.send(answer(exchange, 200, #"{"etag":"e","md5":"\#(QiniuBytes(of: [1, 2, 3]).md5)"}"#))]
        case .gibberish?: return [.send(answer(exchange, 200, "not JSON"))]
        default: return [.send(answer(exchange, 200, text))]
        }
    }

    private func regions(_ call: QiniuCall) -> String {
        let own = ports.withLock { $0 }.map { "127.0.0.1:\($0)" }
        let regions = settings.regions ?? [own]
        let entries = regions.enumerated().map { index, hosts in
            let names = hosts.map { host in
                QiniuText.json(host == "{0}" ? own[0] : host == "{1}" ? own[1] : host)
            }
            return #"{"region":"z\#(index)","ttl":\#(settings.regionLifetime),"features":{"http3":{"enabled":false}},"#
                + #""up":{"domains":[\#(names.joined(separator: ","))],"old":[]},"io":{"domains":["x"]}}"#
        }
        return #"{"hosts":[\#(entries.joined(separator: ","))]}"#
    }

    /// Returns the settings for a request, with the clock that its fault requires.
    private func settings(_ exchange: Exchange) -> QiniuStoreSettings {
        guard case .clockAhead(let seconds, _)? = exchange.fault else { return settings }
        var ahead = settings
        ahead.now = { [settings] in settings.now() + seconds }
        return ahead
    }

    // MARK: Responses

    private func answer(_ exchange: Exchange, _ status: Int, _ json: String) -> ScriptedResponse {
        var fields = [("Content-Type", "application/json"), ("X-Reqid", exchange.requestID), ("X-Log", "X-Log")]
        if case .clockAhead(_, hasDate: false)? = exchange.fault {
        } else {
            fields.append(("Date", StoreDate.http(settings(exchange).now())))
        }
        return end(exchange, status, ScriptedResponse(status, headers: fields, text: json))
    }

    private func refuse(_ exchange: Exchange, _ refusal: QiniuErrorResponse) -> ScriptedResponse {
        answer(exchange, refusal.status, #"{"error":\#(QiniuText.json(refusal.message))}"#)
    }

    // MARK: State

    private func enter(_ call: QiniuCall, host: Int) -> Exchange {
        state.update { state in
            var exchange = Exchange(number: state.log.count, call: call)
            if let index = state.faults.firstIndex(where: { $0.applies(to: call, host: host) }) {
                exchange.fault = state.faults[index].fault
                state.faults[index].times = state.faults[index].times.map { $0 - 1 }
                if case .forget? = exchange.fault { state.uploads[call.uploadID ?? ""] = nil }
            }
            var entry = QiniuLogEntry(
                operation: call.operation, host: host, bucket: call.bucket, part: call.part, uploadID: call.uploadID,
                lines: call.request.lines)
            entry.token =
                call.request.value(of: "Authorization").map {
                    $0.split(separator: " ", maxSplits: 1).last.map(String.init) ?? ""
                } ?? ""
            state.log.append(entry)
            state.inFlight += 1
            state.peakInFlight = max(state.peakInFlight, state.inFlight)
            if call.operation == .part, let id = call.uploadID, let number = call.part {
                let name = QiniuPartName(uploadID: id, number: number)
                var count = state.counts[name] ?? QiniuPartCount()
                count.begun += 1
                if state.uploads[id]?.parts[number] != nil { count.resentAfterStored += 1 }
                count.inFlight += 1
                count.peakInFlight = max(count.peakInFlight, count.inFlight)
                state.counts[name] = count
            }
            return exchange
        }
    }

    /// Records the response before it is sent, because the client may inspect the log immediately afterwards.
    private func end(_ exchange: Exchange, _ status: Int, _ answer: ScriptedResponse) -> ScriptedResponse {
        state.update { $0.log[exchange.number].status = status }
        leave(exchange)
        return answer
    }

    private func leave(_ exchange: Exchange) {
        state.update { state in
            guard !state.log[exchange.number].isOver else { return }
            state.log[exchange.number].isOver = true
            state.inFlight -= 1
            if exchange.call.operation == .part, let id = exchange.call.uploadID, let number = exchange.call.part {
                state.counts[QiniuPartName(uploadID: id, number: number)]?.inFlight -= 1
            }
        }
    }

    private func count(_ exchange: Exchange, _ bytes: Int) {
        state.update { state in
            state.log[exchange.number].bodyBytes += bytes
            state.bodyBytes += bytes
        }
    }
}
