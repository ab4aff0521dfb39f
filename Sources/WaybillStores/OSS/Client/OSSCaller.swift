import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// Makes calls to OSS: through the session, which retries transient failures, and around it the recoveries that need knowledge
/// of the store.
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

    /// The result of a look at the store after a request without a response.
    enum Finding: Sendable {
        /// It was done; this is what the answer would have said.
        case done(UploadResponse)
        /// It was not done.
        case notDone
        /// The look could not find out.
        case cannotTell(StoreError)
    }

    /// An attempt that failed: the error for the caller, and the facts that decide what follows.
    private struct FailedAttempt: Error {
        var error: StoreError
        var facts: OSSRetryDecision.Failure
    }

    typealias Checks = @Sendable (UploadResponse) throws(StoreError) -> Void

    /// Makes a call, and repeats it as ``OSSRetryDecision`` says.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - run: The upload that it belongs to.
    ///   - url: The URL, if it is not that of the bucket and key at the endpoint.
    ///   - checks: Checks the response beside OSS's own fields: the checksum, mostly.
    ///   - lookUp: Looks whether a request without a response was done. Without it, an idempotent call is repeated.
    /// - Returns: The response.
    /// - Throws: ``StoreError``; its outcome is `unknown` only where the look could not find out.
    func make(
        _ call: OSSCall, _ run: ObjectRun, at url: String? = nil, checks: Checks = { _ throws(StoreError) in },
        lookUp: (@Sendable () async -> Finding)? = nil
    ) async throws(StoreError) -> Answer {
        let attemptSigner = OSSAttemptSigner(call, signer: signer, rules: rules, clock: clock)
        var call = call
        var decision = OSSRetryDecision()
        var step: OSSRetryDecision.Step?
        var refusal: StoreError?
        while true {
            if let form = call.form { call.body = try await form(clock.date, step == .refreshCredentials) }
            let request = try request(for: call, at: url, attemptSigner)
            let failed: FailedAttempt
            do throws(FailedAttempt) {
                return Answer(response: try await attempt(request, of: call, run, attemptSigner, refusal, checks))
            } catch {
                failed = error
            }
            let next = decision.step(after: failed.facts, now: clock.local)
            step = next
            switch next {
            case .correctClock(let seconds): clock.correct(to: seconds)
            case .refreshCredentials:
                refusal = failed.error
                attemptSigner.rejectCredentials()
            case .sendAgain: break
            case .lookUp:
                if let response = try await looked(lookUp, call, failed.error) {
                    return Answer(response: response, wasFound: true)
                }
            case .stop(let reason):
                var error = failed.error
                if let reason { error.message += "; \(reason)" }
                throw error
            }
        }
    }

    /// Sends a request once, and checks its response. `refusal` is the error with which credentials were refused before.
    private func attempt(
        _ request: UploadRequest, of call: OSSCall, _ run: ObjectRun, _ attemptSigner: OSSAttemptSigner,
        _ refusal: StoreError?, _ checks: Checks
    ) async throws(FailedAttempt) -> UploadResponse {
        var failed: FailedAttempt
        do throws(UploadError) {
            let response = try await run.send(request, in: session, size: call.size)
            do throws(StoreError) {
                try accept(response, of: call)
                try checks(response)
                return response
            } catch let error {
                if !error.isStored, let size = call.size { run.settle(bytes: -size) }
                failed = FailedAttempt(error: error, facts: .init(outcome: error.outcome ?? .rejected))
                failed.facts.isChecksumMismatch = error.code == .checksumMismatch
            }
        } catch let error {
            failed = read(error, attemptSigner.last)
            if let refusal { failed.error.take(contextOf: refusal) }
        }
        failed.facts.isReplayable = call.body?.isReplayable ?? true
        throw failed
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
    private func read(_ error: UploadError, _ signed: OSSSignedRequest?) -> FailedAttempt {
        var failure = OSSRetryDecision.Failure(outcome: error.outcome)
        failure.isCancelled = error.isCancelled
        // An interceptor's error is the signer's own, and says more than that an interceptor failed.
        if let inner = Self.storeError(in: error.cause) { return FailedAttempt(error: inner, facts: failure) }
        guard let response = error.response, error.code == .rejected else {
            return FailedAttempt(error: StoreError(error), facts: failure)
        }
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
        return FailedAttempt(error: result, facts: failure)
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
