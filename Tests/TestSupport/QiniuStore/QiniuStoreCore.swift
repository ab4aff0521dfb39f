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
    private struct Errand: Sendable {
        let number: Int
        let call: QiniuCall
        var fault: QiniuFault?

        var requestID: String { "reqid-\(number)" }
    }

    /// Returns the steps for a request whose head has arrived.
    func begin(_ request: RecordedRequest, host: Int) -> [Behaviour.Step] {
        let errand = enter(QiniuCall(request), host: host)
        let rest: [Behaviour.Step]
        switch errand.fault {
        case .drop(let count)?: rest = [take(count, errand), .close(.reset)]
        case .stall(let count)?: rest = [take(count, errand), .hold]
        default: rest = serve(errand)
        }
        return [.ensure(rest) { self.leave(errand) }]
    }

    private func take(_ count: Int, _ errand: Errand) -> Behaviour.Step {
        .take(count) { bytes in self.count(errand, bytes.count) }
    }

    private func serve(_ errand: Errand) -> [Behaviour.Step] {
        let isWhole = errand.call.operation == .form || errand.call.operation == .complete
        let intake = QiniuIntake(keepsUpTo: isWhole ? 64 << 20 : settings.keepsBodiesUpTo)
        let hold = gate.withLock { $0 }.map { [Behaviour.Step.wait($0)] } ?? []
        return [
            .take(nil) { bytes in
                intake.take(bytes)
                self.count(errand, bytes.count)
            }
        ] + hold + [.decide { _ in self.finish(errand, intake.stored) }]
    }

    private func finish(_ errand: Errand, _ body: QiniuBytes) -> [Behaviour.Step] {
        switch errand.fault {
        case .refuse(let status, let message)?: return [.send(refuse(errand, QiniuErrorResponse(status, message)))]
        case .forget?: return [.send(refuse(errand, .noSuchUpload))]
        case .captivePortal?:
            let page = "<html><body>Please log in to the network of the hotel.</body></html>"
            return [.send(end(errand, 200, Answer(200, headers: [("Content-Type", "text/html")], text: page)))]
        default: break
        }
        if errand.call.operation == .regions { return [.send(answer(errand, 200, regions(errand.call)))] }
        let work = QiniuWork(
            call: errand.call, settings: settings, gate: QiniuAuthenticator(settings: settings), body: body)
        switch state.update({ state in Result { try work.perform(&state) } }) {
        case .failure(let error): return [.send(refuse(errand, error as! QiniuErrorResponse))]
        case .success(let text): return reply(errand, text)
        }
    }

    /// Returns the response to a request that was performed.
    private func reply(_ errand: Errand, _ text: String) -> [Behaviour.Step] {
        switch errand.fault {
        case .storeThenDrop?:
            leave(errand)
            return [.close(.reset)]
        case .callbackFailed?:
            let refusal = QiniuErrorResponse(579, #"{"callback_url":"http://backend.example/","callback_bodyType":""}"#)
            return [.send(refuse(errand, refusal))]
        case .wrongHash?:
            return [.send(answer(errand, 200, #"{"hash":"\#(QiniuBytes(of: [1, 2, 3]).etag)","key":"k"}"#))]
        case .wrongMD5?:
            return [.send(answer(errand, 200, #"{"etag":"e","md5":"\#(QiniuBytes(of: [1, 2, 3]).md5)"}"#))]
        case .gibberish?: return [.send(answer(errand, 200, "not JSON"))]
        default: return [.send(answer(errand, 200, text))]
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

    // MARK: Responses

    private func answer(_ errand: Errand, _ status: Int, _ json: String) -> Answer {
        let fields = [("Content-Type", "application/json"), ("X-Reqid", errand.requestID), ("X-Log", "X-Log")]
        return end(errand, status, Answer(status, headers: fields, text: json))
    }

    private func refuse(_ errand: Errand, _ refusal: QiniuErrorResponse) -> Answer {
        answer(errand, refusal.status, #"{"error":\#(QiniuText.json(refusal.message))}"#)
    }

    // MARK: State

    private func enter(_ call: QiniuCall, host: Int) -> Errand {
        state.update { state in
            var errand = Errand(number: state.log.count, call: call)
            if let index = state.faults.firstIndex(where: { $0.befalls(call, host: host) }) {
                errand.fault = state.faults[index].fault
                state.faults[index].times = state.faults[index].times.map { $0 - 1 }
                if case .forget? = errand.fault { state.uploads[call.uploadID ?? ""] = nil }
            }
            var entry = QiniuLogEntry(
                operation: call.operation, host: host, bucket: call.bucket, part: call.part, uploadID: call.uploadID,
                lines: call.request.lines)
            entry.token = call.request.value(of: "Authorization").map { String($0.dropFirst("UpToken ".count)) } ?? ""
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
            return errand
        }
    }

    /// Records the response before it is sent, because the client may inspect the log immediately afterwards.
    private func end(_ errand: Errand, _ status: Int, _ answer: Answer) -> Answer {
        state.update { $0.log[errand.number].status = status }
        leave(errand)
        return answer
    }

    private func leave(_ errand: Errand) {
        state.update { state in
            guard !state.log[errand.number].isOver else { return }
            state.log[errand.number].isOver = true
            state.inFlight -= 1
            if errand.call.operation == .part, let id = errand.call.uploadID, let number = errand.call.part {
                state.counts[QiniuPartName(uploadID: id, number: number)]?.inFlight -= 1
            }
        }
    }

    private func count(_ errand: Errand, _ bytes: Int) {
        state.update { state in
            state.log[errand.number].bodyBytes += bytes
            state.bodyBytes += bytes
        }
    }
}
