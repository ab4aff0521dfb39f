import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// Makes calls to OSS: through the session, which retries what may pass, and around it what only somebody can mend who knows
/// the store.
struct OSSCaller: Sendable {
    let endpoint: OSSEndpoint
    let session: UploadSession
    let signer: any ObjectStoreSigner
    let rules: OSSSigningRules
    let clock: StoreClock
    let options: UploadOptions

    /// A request that was done.
    struct Answer: Sendable {
        var response: UploadResponse
        /// Whether its own answer was lost, and this one is that of a look at the store.
        var wasFound = false
    }

    /// What a look at the store said about a request that got no answer.
    enum Finding: Sendable {
        /// It was done; this is what the answer would have said.
        case done(UploadResponse)
        /// It was not done.
        case notDone
        /// Nobody can say.
        case cannotTell(StoreError)
    }

    /// Makes a call: at `url`, if that is not where the endpoint has bucket and key. `checks` say what the answer must be beside
    /// OSS's own: the checksum, mostly. `lookUp` looks whether a request that got no answer was done; without it the caller
    /// does that by itself.
    ///
    /// - Throws: ``StoreError``; its outcome is `unknown` only where nobody could find out.
    func make(
        _ call: OSSCall, _ run: ObjectRun, at url: String? = nil,
        checks: @Sendable (UploadResponse) throws(StoreError) -> Void = { _ throws(StoreError) in },
        lookUp: (@Sendable () async -> Finding)? = nil
    ) async throws(StoreError) -> Answer {
        let attemptSigner = OSSAttemptSigner(call, signer: signer, rules: rules, clock: clock)
        var call = call
        var decision = OSSRetryDecision()
        var isFresh = false
        var refusal: StoreError?
        while true {
            var error: StoreError
            var failure: OSSRetryDecision.Failure
            if let form = call.form { call.body = try await form(clock.date, isFresh) }
            isFresh = false
            let request = try request(for: call, at: url, attemptSigner)
            do throws(UploadError) {
                let response = try await run.send(request, in: session, size: call.size)
                do throws(StoreError) {
                    try accept(response, of: call)
                    try checks(response)
                    return Answer(response: response)
                } catch let objection {
                    if !objection.isStored, let size = call.size { run.settle(bytes: -size) }
                    error = objection
                    failure = OSSRetryDecision.Failure(outcome: objection.outcome ?? .rejected)
                    failure.isChecksumMismatch = objection.code == .checksumMismatch
                }
            } catch let uploadError {
                (error, failure) = read(uploadError, attemptSigner.last)
                if let refusal { error.take(contextOf: refusal) }
            }
            failure.isReplayable = call.body?.isReplayable ?? true
            switch decision.step(after: failure, now: clock.local) {
            case .correctClock(let seconds): clock.correct(to: seconds)
            case .refreshCredentials:
                isFresh = true
                refusal = error
                attemptSigner.rejectCredentials()
            case .sendAgain: continue
            case .lookUp:
                if let response = try await looked(lookUp, call, error) {
                    return Answer(response: response, wasFound: true)
                }
            case .stop(let reason):
                if let reason { error.message += "; \(reason)" }
                throw error
            }
        }
    }

    /// What the look says; `nil` to make the request again.
    private func looked(
        _ lookUp: (@Sendable () async -> Finding)?, _ call: OSSCall, _ error: StoreError
    ) async throws(StoreError) -> UploadResponse? {
        let isReplayable = call.body?.isReplayable ?? true
        guard let lookUp else {
            if call.isIdempotent, isReplayable { return nil }
            throw error
        }
        var error = error
        switch await lookUp() {
        case .done(let response): return response
        case .notDone:
            if isReplayable { return nil }
            error.outcome = .rejected
            error.message += "; the store does not have it, and its body can be read once, so it was not sent again"
        case .cannotTell(let reason):
            if reason.isCancelled { throw reason }
            error.message += "; whether it was stored could not be found out: \(reason.message)"
        }
        throw error
    }

    private func request(
        for call: OSSCall, at place: String?, _ attemptSigner: OSSAttemptSigner
    ) throws(StoreError) -> UploadRequest {
        // A form's key is within the form; every other request is about one object.
        if call.form == nil { try OSSName.checkKey(call.key) }
        let query = StoreQueryItem.text(of: call.query)
        var url = place ?? ""
        if place == nil { url = try endpoint.url(bucket: call.bucket, key: call.key) }
        if !query.isEmpty { url += "?\(query)" }
        var headers = call.headers
        // libcurl is told what was signed, and nothing is added behind the signature's back.
        if headers[.contentType] == nil, let body = call.body, body.contentType == nil {
            headers[.contentType] = "application/octet-stream"
        }
        var request = UploadRequest(
            call.method, url, headers: headers, content: call.body.map { .body($0) } ?? .empty, options: options)
        if call.form == nil { request.interceptors = [attemptSigner] }
        return request
    }

    /// Whether an answer that says yes is OSS's.
    private func accept(_ response: UploadResponse, of call: OSSCall) throws(StoreError) {
        // A proxy that changes what passes through it says 203 too (RFC 9110 section 15.3.4).
        let asksForCallback = call.form != nil || call.headers[.ossCallback] != nil
        if response.status.code == 203, response.headers[.ossRequestID] != nil, asksForCallback {
            throw StoreError(callbackFailed: response)
        }
        guard response.status.code != 203, response.headers[.ossRequestID] != nil else {
            let reply = OSSErrorReply(response)
            var error = StoreError(
                .unexpectedAnswer,
                "something answered \(response.status.code) that is not OSS: "
                    + (reply.strangeness ?? "it names no request; look what is between here and the store"),
                outcome: .unknown)
            error.status = response.status.code
            throw error
        }
    }

    /// What a session's error says of the store.
    private func read(
        _ error: UploadError, _ signed: OSSSignedRequest?
    ) -> (StoreError, OSSRetryDecision.Failure) {
        var failure = OSSRetryDecision.Failure(outcome: error.outcome)
        failure.isCancelled = error.isCancelled
        // An interceptor's error is the signer's own, and says more than that an interceptor failed.
        if let inner = Self.storeError(in: error.cause) { return (inner, failure) }
        guard let response = error.response, error.code == .rejected else { return (StoreError(error), failure) }
        let reply = OSSErrorReply(response)
        failure.status = response.status.code
        failure.isClockComplaint = reply.isClockComplaint
        failure.isCredentialComplaint = reply.isCredentialComplaint
        failure.serverTime = reply.serverTime
        failure.dateField = response.headers[.date].flatMap { HTTPDate($0) }.map {
            Date(timeIntervalSince1970: TimeInterval($0.seconds))
        }
        var result = StoreError(reply, response, outcome: error.outcome, cause: error)
        result.host = result.host ?? endpoint.host
        if reply.code == "SignatureDoesNotMatch", let signed, let theirs = reply.stringToSign {
            let difference = OSSSignatureDifference(
                of: signed, theirStringToSign: theirs, theirCanonicalRequest: reply.canonicalRequest)
            result.message = "the signature does not match: \(difference)"
        }
        return (result, failure)
    }

    private static func storeError(in cause: (any Error)?) -> StoreError? {
        switch cause {
        case let error as StoreError: error
        case let error as TransferError: storeError(in: error.cause)
        default: nil
        }
    }
}

extension StoreError {
    /// What the store had said when the credentials were refused, for an error that never came to the store.
    fileprivate mutating func take(contextOf refusal: StoreError) {
        guard status == nil else { return }
        (status, storeCode, detailCode) = (refusal.status, refusal.storeCode, refusal.detailCode)
        (requestID, host, outcome) = (refusal.requestID, refusal.host, refusal.outcome)
        cause = cause ?? refusal
    }
}
