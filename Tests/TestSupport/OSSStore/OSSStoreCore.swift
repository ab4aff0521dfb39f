internal import CTestSupport
internal import WaybillCore

/// The state shared by the threads of an ``OSSStore``. Each request begins and ends here.
final class OSSStoreCore: Sendable {
    let settings: OSSStoreSettings
    let state = Watched(OSSState())
    let gate = Locked<Gate?>(nil)

    init(_ settings: OSSStoreSettings) { self.settings = settings }

    /// A request in flight.
    private struct Exchange: Sendable {
        let number: Int
        let call: OSSCall
        let gate: OSSAuthenticator
        var fault: OSSFault?

        var requestID: String { "5C3D9175B6FC201293AD\(format(number))" }

        private func format(_ number: Int) -> String {
            let digits = String(number, radix: 16, uppercase: true)
            return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
    }

    /// Returns the steps for a request whose head has arrived.
    func begin(_ request: RecordedRequest) -> [Behaviour.Step] {
        let call: OSSCall
        do {
            call = try OSSCall(request, settings)
        } catch {
            return refuseUnread(request, error as! OSSRefusal)
        }
        let exchange = enter(call)
        let rest: [Behaviour.Step]
        switch exchange.fault {
        case .drop(let count)?: rest = [take(count, exchange), .close(.reset)]
        case .stall(let count)?: rest = [take(count, exchange), .hold]
        case .refuseContinue?:
            rest = [.decide { _ in [.send(self.end(exchange, ScriptedResponse(417), 417, nil))] }, .forgetBody]
        default: rest = serve(exchange)
        }
        return [.ensure(rest) { self.leave(exchange) }]
    }

    /// Reads the body and responds. A request with `Expect` is rejected before that if it is already invalid.
    private func serve(_ exchange: Exchange) -> [Behaviour.Step] {
        let isForm = exchange.call.operation == .postObject
        let isSmall = isForm || exchange.call.operation == .complete
        let intake = BodyIntake(keepsUpTo: isSmall ? 64 << 20 : settings.keepsBodiesUpTo, settings.dialect)
        let refusal = refusal(exchange, isForm: isForm)
        if let refusal, exchange.call.request.value(of: "Expect")?.lowercased() == "100-continue" {
            return [.decide { _ in [.send(self.refuse(exchange, refusal))] }, .forgetBody]
        }
        let hold = gate.withLock { $0 }.map { [Behaviour.Step.wait($0)] } ?? []
        return [
            .take(nil) { bytes in
                intake.take(bytes)
                self.count(exchange, bytes.count)
            }
        ] + hold + [.decide { _ in self.finish(exchange, intake, refusal) }]
    }

    /// Returns the error that is known before the body arrives.
    private func refusal(_ exchange: Exchange, isForm: Bool) -> OSSRefusal? {
        if let fault = fault(exchange) { return fault }
        if isForm { return nil }
        do {
            note(exchange, try exchange.gate.identify(exchange.call))
            return nil
        } catch {
            return error as? OSSRefusal
        }
    }

    private func take(_ count: Int, _ exchange: Exchange) -> Behaviour.Step {
        .take(count) { self.count(exchange, $0.count) }
    }

    /// Returns the error of a fault that occurs before anything is stored.
    private func fault(_ exchange: Exchange) -> OSSRefusal? {
        switch exchange.fault {
        case .busy?: OSSRefusal(503, "ServiceUnavailable", "Please reduce your request rate.", ec: "0048-00000101")
        case .tokenExpired?: OSSAuthenticator.tokenExpired
        case .denied?: OSSRefusal.denied("You have no right to access this object because of bucket acl.")
        case .noSuchUpload?: OSSRefusal.noSuchUpload(exchange.call.uploadID ?? "")
        case .html(let status)?: OSSRefusal(status, "", "", ec: "")
        case .refused(let status, let code)?: OSSRefusal(status, code, "The request is refused.", ec: "")
        default: nil
        }
    }

    private func finish(_ exchange: Exchange, _ intake: BodyIntake, _ refusal: OSSRefusal?) -> [Behaviour.Step] {
        if let refusal { return [.send(refuse(exchange, refusal))] }
        let body = intake.stored
        if exchange.call.operation == .postObject, let bytes = body.bytes,
            let form = try? OSSForm(bytes, contentType: exchange.call.request.value(of: "Content-Type") ?? "")
        {
            note(exchange, OSSWork.kind(of: form))
        }
        let work = OSSWork(call: exchange.call, settings: settings, gate: exchange.gate, body: body)
        let outcome = state.update { state in Result { try work.perform(&state) } }
        switch outcome {
        case .failure(let error): return [.send(refuse(exchange, error as! OSSRefusal))]
        case .success(let reply): return answer(exchange, reply)
        }
    }

    // MARK: Responses

    private func answer(_ exchange: Exchange, _ reply: OSSReply) -> [Behaviour.Step] {
        var reply = reply
        switch exchange.fault {
        case .storeThenDrop?:
            leave(exchange)
            return [.close(.reset)]
        case .wrongChecksum?:
            reply.checksum = reply.checksum.map { ~$0 }
            if settings.dialect == .s3 {
                S3Sum.damage(&reply)
                reply.fields.removeAll { $0.0 == "ETag" }
                reply.fields.append(("ETag", "\"\(String(repeating: "0", count: 32))\""))
            }
        case .xml(let status, let xml)?:
            reply.status = status
            reply.body = xml.bytes
        case .callbackFailed?:
            let refusal = OSSRefusal(
                203, "CallbackFailed", "Error status : -1.The callback server did not answer in time.",
                ec: "0007-00000203")
            reply.status = 203
            reply.fields.removeAll { $0.0 == "Content-Type" }
            reply.fields.append(("Content-Type", "application/xml"))
            reply.body = Array(refusal.xml(requestID: exchange.requestID, host: host(exchange.call.request)).utf8)
        default: break
        }
        var fields = common(exchange.requestID, exchange.gate) + reply.fields
        if settings.dialect == .oss, let checksum = reply.checksum {
            fields.append(("x-oss-hash-crc64ecma", "\(checksum)"))
        }
        return [
            .send(end(exchange, ScriptedResponse(reply.status, headers: fields, body: reply.body), reply.status, nil))
        ]
    }

    private func refuse(_ exchange: Exchange, _ unnamed: OSSRefusal) -> ScriptedResponse {
        let refusal = settings.dialect.named(unnamed)
        var fields = common(exchange.requestID, exchange.gate)
        if case .html(let status)? = exchange.fault {
            let page =
                "<html><head><title>\(status) Bad Gateway</title></head><body><h1>\(status)</h1><br></body></html>\n"
            let length = [("Content-Type", "text/html"), ("Content-Length", "\(page.utf8.count)")]
            let body = exchange.call.request.method == "HEAD" ? "" : page
            return end(exchange, ScriptedResponse(status, headers: length, text: body), status, nil)
        }
        if case .busy(let seconds?)? = exchange.fault { fields.append(("Retry-After", "\(seconds)")) }
        let answer = refusal.answer(
            requestID: exchange.requestID, host: host(exchange.call.request),
            isHead: exchange.call.request.method == "HEAD", fields: fields, settings.dialect)
        return end(exchange, answer, refusal.status, refusal.code)
    }

    private func common(_ requestID: String, _ gate: OSSAuthenticator) -> [(String, String)] {
        let date = gate.skew?.hasTrueDate ?? true ? StoreDate.http(gate.now) : "Thu, 01 Jan 1970 00:00:00 GMT"
        guard settings.dialect == .oss else {
            return [("Server", "AmazonS3"), ("Date", date), ("x-amz-request-id", requestID)]
        }
        return [
            ("Server", "AliyunOSS"), ("Date", date), ("x-oss-request-id", requestID), ("x-oss-server-time", "3"),
        ]
    }

    private func host(_ request: RecordedRequest) -> String {
        String((request.value(of: "Host") ?? "").prefix { $0 != ":" })
    }

    private func refuseUnread(_ request: RecordedRequest, _ refusal: OSSRefusal) -> [Behaviour.Step] {
        let gate = OSSAuthenticator(settings: settings, now: settings.now(), skew: nil)
        let answer = refusal.answer(
            requestID: "5C3D9175B6FC201293ADFFFF", host: host(request), isHead: request.method == "HEAD",
            fields: common("5C3D9175B6FC201293ADFFFF", gate), settings.dialect)
        state.update { state in
            var entry = OSSLogEntry(
                operation: .unknown, bucket: nil, key: "", partNumber: nil, uploadID: nil, lines: request.lines)
            entry.status = refusal.status
            entry.code = refusal.code
            entry.isOver = true
            state.log.append(entry)
        }
        return [.take(nil) { _ in }, .send(answer)]
    }

    // MARK: State

    private func enter(_ call: OSSCall) -> Exchange {
        state.update { state in
            let skew = state.skew
            let gate = OSSAuthenticator(settings: settings, now: settings.now() + (skew?.seconds ?? 0), skew: skew)
            var exchange = Exchange(number: state.log.count, call: call, gate: gate)
            if let index = state.faults.firstIndex(where: { $0.applies(to: call) && Self.fits($0.fault, call) }) {
                exchange.fault = state.faults[index].fault
                state.faults[index].times = state.faults[index].times.map { $0 - 1 }
                if case .noSuchUpload? = exchange.fault { state.uploads[call.uploadID ?? ""] = nil }
            }
            state.log.append(
                OSSLogEntry(
                    operation: call.operation, bucket: call.bucket, key: call.key.text, partNumber: call.partNumber,
                    uploadID: call.uploadID, lines: call.request.lines))
            state.inFlight += 1
            state.peakInFlight = max(state.peakInFlight, state.inFlight)
            if call.operation == .uploadPart, let id = call.uploadID, let number = call.partNumber {
                var count = state.counts[.init(uploadID: id, number: number)] ?? OSSPartCount()
                count.begun += 1
                if state.uploads[id]?.parts[number] != nil { count.resentAfterStored += 1 }
                count.inFlight += 1
                count.peakInFlight = max(count.peakInFlight, count.inFlight)
                state.counts[.init(uploadID: id, number: number)] = count
            }
            return exchange
        }
    }

    /// Returns whether a request can trigger a fault. Others are not affected.
    private static func fits(_ fault: OSSFault, _ call: OSSCall) -> Bool {
        if case .refuseContinue = fault { return call.request.value(of: "Expect") != nil }
        return true
    }

    /// Records the response before it is sent, because the client may inspect the log immediately afterwards.
    private func end(_ exchange: Exchange, _ answer: ScriptedResponse, _ status: Int, _ code: String?)
        -> ScriptedResponse
    {
        state.update { state in
            state.log[exchange.number].status = status
            state.log[exchange.number].code = code
        }
        leave(exchange)
        return answer
    }

    private func leave(_ exchange: Exchange) {
        state.update { state in
            guard !state.log[exchange.number].isOver else { return }
            state.log[exchange.number].isOver = true
            state.inFlight -= 1
            if exchange.call.operation == .uploadPart, let id = exchange.call.uploadID,
                let number = exchange.call.partNumber
            {
                state.counts[.init(uploadID: id, number: number)]?.inFlight -= 1
            }
        }
    }

    private func note(_ exchange: Exchange, _ kind: OSSSignatureKind) {
        state.update { $0.log[exchange.number].signature = kind }
    }

    private func count(_ exchange: Exchange, _ bytes: Int) {
        state.update { state in
            state.log[exchange.number].bodyBytes += bytes
            state.bodyBytes += bytes
        }
    }
}
