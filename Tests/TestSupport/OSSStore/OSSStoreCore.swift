internal import CTestSupport
internal import WaybillCore

/// The state shared by the threads of an ``OSSStore``. Each request begins and ends here.
final class OSSStoreCore: Sendable {
    let settings: OSSStoreSettings
    let state = Watched(OSSState())
    let gate = Locked<Gate?>(nil)

    init(_ settings: OSSStoreSettings) { self.settings = settings }

    /// A request in flight.
    private struct Errand: Sendable {
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
        let errand = enter(call)
        let rest: [Behaviour.Step]
        switch errand.fault {
        case .drop(let count)?: rest = [take(count, errand), .close(.reset)]
        case .stall(let count)?: rest = [take(count, errand), .hold]
        case .refuseContinue?:
            rest = [.decide { _ in [.send(self.end(errand, Answer(417), 417, nil))] }, .forgetBody]
        default: rest = serve(errand)
        }
        return [.ensure(rest) { self.leave(errand) }]
    }

    /// Reads the body and responds. A request with `Expect` is rejected before that if it is already invalid.
    private func serve(_ errand: Errand) -> [Behaviour.Step] {
        let isForm = errand.call.operation == .postObject
        let isSmall = isForm || errand.call.operation == .complete
        let intake = BodyIntake(keepsUpTo: isSmall ? 64 << 20 : settings.keepsBodiesUpTo)
        let refusal = refusal(errand, isForm: isForm)
        if let refusal, errand.call.request.value(of: "Expect")?.lowercased() == "100-continue" {
            return [.decide { _ in [.send(self.refuse(errand, refusal))] }, .forgetBody]
        }
        let hold = gate.withLock { $0 }.map { [Behaviour.Step.wait($0)] } ?? []
        return [
            .take(nil) { bytes in
                intake.take(bytes)
                self.count(errand, bytes.count)
            }
        ] + hold + [.decide { _ in self.finish(errand, intake, refusal) }]
    }

    /// Returns the error that is known before the body arrives.
    private func refusal(_ errand: Errand, isForm: Bool) -> OSSRefusal? {
        if let fault = fault(errand) { return fault }
        if isForm { return nil }
        do {
            note(errand, try errand.gate.identify(errand.call))
            return nil
        } catch {
            return error as? OSSRefusal
        }
    }

    private func take(_ count: Int, _ errand: Errand) -> Behaviour.Step {
        .take(count) { self.count(errand, $0.count) }
    }

    /// Returns the error of a fault that occurs before anything is stored.
    private func fault(_ errand: Errand) -> OSSRefusal? {
        switch errand.fault {
        case .busy?: OSSRefusal(503, "ServiceUnavailable", "Please reduce your request rate.", ec: "0048-00000101")
        case .tokenExpired?: OSSAuthenticator.tokenExpired
        case .denied?: OSSRefusal.denied("You have no right to access this object because of bucket acl.")
        case .noSuchUpload?: OSSRefusal.noSuchUpload(errand.call.uploadID ?? "")
        case .html(let status)?: OSSRefusal(status, "", "", ec: "")
        default: nil
        }
    }

    private func finish(_ errand: Errand, _ intake: BodyIntake, _ refusal: OSSRefusal?) -> [Behaviour.Step] {
        if let refusal { return [.send(refuse(errand, refusal))] }
        let body = intake.stored
        if errand.call.operation == .postObject, let bytes = body.bytes,
            let form = try? OSSForm(bytes, contentType: errand.call.request.value(of: "Content-Type") ?? "")
        {
            note(errand, OSSWork.kind(of: form))
        }
        let work = OSSWork(call: errand.call, settings: settings, gate: errand.gate, body: body)
        let outcome = state.update { state in Result { try work.perform(&state) } }
        switch outcome {
        case .failure(let error): return [.send(refuse(errand, error as! OSSRefusal))]
        case .success(let reply): return answer(errand, reply)
        }
    }

    // MARK: Responses

    private func answer(_ errand: Errand, _ reply: OSSReply) -> [Behaviour.Step] {
        var reply = reply
        switch errand.fault {
        case .storeThenDrop?:
            leave(errand)
            return [.close(.reset)]
        case .wrongChecksum?: reply.checksum = reply.checksum.map { ~$0 }
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
            reply.body = Array(refusal.xml(requestID: errand.requestID, host: host(errand.call.request)).utf8)
        default: break
        }
        var fields = common(errand.requestID, errand.gate) + reply.fields
        if let checksum = reply.checksum { fields.append(("x-oss-hash-crc64ecma", "\(checksum)")) }
        return [.send(end(errand, Answer(reply.status, headers: fields, body: reply.body), reply.status, nil))]
    }

    private func refuse(_ errand: Errand, _ refusal: OSSRefusal) -> Answer {
        var fields = common(errand.requestID, errand.gate)
        if case .html(let status)? = errand.fault {
            let page =
                "<html><head><title>\(status) Bad Gateway</title></head><body><h1>\(status)</h1><br></body></html>\n"
            let length = [("Content-Type", "text/html"), ("Content-Length", "\(page.utf8.count)")]
            let body = errand.call.request.method == "HEAD" ? "" : page
            return end(errand, Answer(status, headers: length, text: body), status, nil)
        }
        if case .busy(let seconds?)? = errand.fault { fields.append(("Retry-After", "\(seconds)")) }
        let answer = refusal.answer(
            requestID: errand.requestID, host: host(errand.call.request),
            isHead: errand.call.request.method == "HEAD", fields: fields)
        return end(errand, answer, refusal.status, refusal.code)
    }

    private func common(_ requestID: String, _ gate: OSSAuthenticator) -> [(String, String)] {
        let date = gate.skew?.hasTrueDate ?? true ? StoreDate.http(gate.now) : "Thu, 01 Jan 1970 00:00:00 GMT"
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
            fields: common("5C3D9175B6FC201293ADFFFF", gate))
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

    private func enter(_ call: OSSCall) -> Errand {
        state.update { state in
            let skew = state.skew
            let gate = OSSAuthenticator(settings: settings, now: settings.now() + (skew?.seconds ?? 0), skew: skew)
            var errand = Errand(number: state.log.count, call: call, gate: gate)
            if let index = state.faults.firstIndex(where: { $0.befalls(call) && Self.fits($0.fault, call) }) {
                errand.fault = state.faults[index].fault
                state.faults[index].times = state.faults[index].times.map { $0 - 1 }
                if case .noSuchUpload? = errand.fault { state.uploads[call.uploadID ?? ""] = nil }
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
            return errand
        }
    }

    /// Returns whether a request can trigger a fault. Others are not affected.
    private static func fits(_ fault: OSSFault, _ call: OSSCall) -> Bool {
        if case .refuseContinue = fault { return call.request.value(of: "Expect") != nil }
        return true
    }

    /// Records the response before it is sent, because the client may inspect the log immediately afterwards.
    private func end(_ errand: Errand, _ answer: Answer, _ status: Int, _ code: String?) -> Answer {
        state.update { state in
            state.log[errand.number].status = status
            state.log[errand.number].code = code
        }
        leave(errand)
        return answer
    }

    private func leave(_ errand: Errand) {
        state.update { state in
            guard !state.log[errand.number].isOver else { return }
            state.log[errand.number].isOver = true
            state.inFlight -= 1
            if errand.call.operation == .uploadPart, let id = errand.call.uploadID, let number = errand.call.partNumber
            {
                state.counts[.init(uploadID: id, number: number)]?.inFlight -= 1
            }
        }
    }

    private func note(_ errand: Errand, _ kind: OSSSignatureKind) {
        state.update { $0.log[errand.number].signature = kind }
    }

    private func count(_ errand: Errand, _ bytes: Int) {
        state.update { state in
            state.log[errand.number].bodyBytes += bytes
            state.bodyBytes += bytes
        }
    }
}
