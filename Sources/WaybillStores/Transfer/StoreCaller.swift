import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// Makes calls to a store. The session retries transient failures; this type adds the recoveries that need knowledge of
/// the store.
struct StoreCaller: Sendable {
    let service: any StoreService
    let session: UploadSession
    let clock: StoreClock
    let options: UploadOptions

    /// The response of a request that was applied.
    struct CallResult: Sendable {
        var response: UploadResponse
        /// Whether the original response was lost, and `response` is that of a query for the stored object.
        var wasFound = false
        /// Whether nothing was sent because the object is the same, and `response` is that of a query for it.
        var wasSame = false
    }

    /// The result of querying the store after a request without a response.
    enum LookupResult: Sendable {
        /// The request was applied; the response has the same facts as the lost one.
        case done(UploadResponse)
        /// The request was not applied.
        case notDone
        /// The query could not determine the outcome.
        case unknown(StoreError)
    }

    /// A failed attempt: the error for the caller, and the facts that decide the next step.
    private struct FailedAttempt: Error {
        var error: StoreError
        var facts: StoreRetryDecision.Failure
        /// Whether the store may have acted on the request or one of its repetitions.
        var mayHaveActed = false
    }

    /// What an attempt is based on. Concurrent calls can change it for later attempts.
    private struct Basis {
        var region: String
        var clockCorrection: TimeInterval
    }

    typealias Checks = @Sendable (UploadResponse) throws(StoreError) -> Void

    /// Makes a call, and repeats it as ``StoreRetryDecision`` decides.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - run: The upload that the call belongs to.
    ///   - url: The URL, if it is not that of the bucket and key at the endpoint.
    ///   - checks: Performs further checks of the response, usually of the checksum.
    ///   - existing: The store's code for an object that must not be overwritten. If an earlier attempt may have acted,
    ///     that object may be its own: it is then looked up.
    ///   - lookUp: Queries whether a request of unknown outcome was applied. Without it, only an idempotent call is
    ///     repeated.
    /// - Returns: The response.
    /// - Throws: ``StoreError``; its outcome is `unknown` only if the query could not determine it, or if every attempt
    ///   of an idempotent request ended with a server error.
    func make(
        _ call: StoreCall, _ run: ObjectRun, at url: String? = nil, checks: Checks = { _ throws(StoreError) in },
        existing: String? = nil, lookUp: (@Sendable () async -> LookupResult)? = nil
    ) async throws(StoreError) -> CallResult {
        let attemptSigner = AttemptSigner(call, service: service, clock: clock)
        var call = call
        var decision = StoreRetryDecision()
        var step: StoreRetryDecision.Step?
        var refusal: StoreError?
        var mayHaveActed = false
        var mismatch: StoreError?
        while true {
            if let form = call.form { call.body = try await form(clock.date, step == .refreshCredentials) }
            let basis = Basis(region: service.region(of: call.bucket), clockCorrection: clock.correction)
            let request = try request(for: call, at: url, attemptSigner)
            let failed: FailedAttempt
            do throws(FailedAttempt) {
                return CallResult(
                    response: try await attempt(request, of: call, run, basis, attemptSigner, refusal, checks))
            } catch {
                failed = error
            }
            mayHaveActed = mayHaveActed || failed.mayHaveActed
            if failed.mayHaveActed, failed.facts.isChecksumMismatch { mismatch = failed.error }
            let next = decision.step(after: failed.facts, now: clock.local)
            step = next
            switch next {
            case .correctClock(let seconds): clock.correct(to: seconds)
            case .refreshCredentials:
                refusal = failed.error
                attemptSigner.rejectCredentials()
            case .changeRegion(let region): service.move(call.bucket, to: region)
            case .sendAgain: break
            case .lookUp:
                if let response = try await responseAfterLookup(lookUp, call, failed) {
                    return CallResult(response: response, wasFound: true)
                }
            case .stop(let reason):
                var error = failed.error
                if let reason { error.message += " \(reason)" }
                guard let lookUp, let existing, error.storeCode == existing, mayHaveActed else { throw error }
                switch await lookUp() {
                case .done(let response): return CallResult(response: response, wasFound: true)
                case .notDone: throw mismatch ?? error
                case .unknown(let reason): throw error.undetermined(reason)
                }
            }
        }
    }

    /// Sends a request once and checks its response. `refusal` is the error with which credentials were rejected
    /// before.
    private func attempt(
        _ request: UploadRequest, of call: StoreCall, _ run: ObjectRun, _ basis: Basis,
        _ attemptSigner: AttemptSigner, _ refusal: StoreError?, _ checks: Checks
    ) async throws(FailedAttempt) -> UploadResponse {
        var failed: FailedAttempt
        do throws(UploadError) {
            let response = try await run.send(request, in: session, size: call.size)
            do throws(StoreError) {
                try service.accept(response, of: call)
                try checks(response)
                return response
            } catch let error {
                if !error.isStored, let size = call.size { run.addStored(bytes: -size) }
                failed = FailedAttempt(
                    error: error, facts: .init(outcome: error.outcome ?? .rejected), mayHaveActed: true)
                failed.facts.isChecksumMismatch = error.code == .checksumMismatch
                failed.facts.isTransient = StoreErrorResponse.transientCodes.contains { $0 == error.storeCode }
            }
        } catch let error {
            failed = read(error, of: call, basis, attemptSigner.last)
            failed.mayHaveActed = error.mayHaveActed
            if let refusal { failed.error.adoptContext(of: refusal) }
        }
        failed.facts.isReplayable = call.body?.isReplayable ?? true
        throw failed
    }

    /// Queries the store after a request of unknown outcome. Returns `nil` if the request is to be repeated.
    private func responseAfterLookup(
        _ lookUp: (@Sendable () async -> LookupResult)?, _ call: StoreCall, _ failed: FailedAttempt
    ) async throws(StoreError) -> UploadResponse? {
        let isReplayable = call.body?.isReplayable ?? true
        var error = failed.error
        let hasResponse = failed.facts.status != nil
        // The session has already repeated such a request after a response.
        let isExhausted = hasResponse && (call.isIdempotent || call.method.isIdempotent)
        guard let lookUp else {
            if call.isIdempotent, isReplayable, !isExhausted { return nil }
            throw error
        }
        switch await lookUp() {
        case .done(let response): return response
        case .notDone:
            // A gateway may still be passing the request on.
            guard !isExhausted else { throw error }
            if isReplayable {
                let backoff = Backoff(from: options.retry.baseDelay, to: options.retry.maxDelay)
                if hasResponse { try? await Task.sleep(for: backoff.delay(after: 1, jitter: .random(in: 0...1))) }
                return nil
            }
            error.outcome = .rejected
            error.message +=
                " The store does not have the object, but the body can be read only once and was not sent again."
        case .unknown(let reason):
            if reason.isCancelled { throw reason }
            error = error.undetermined(reason)
        }
        throw error
    }

    private func request(
        for call: StoreCall, at url: String?, _ attemptSigner: AttemptSigner
    ) throws(StoreError) -> UploadRequest {
        // A form carries its key as a field; every other request addresses one object.
        if call.form == nil, !call.isToBucket { try service.checkKey(call.key) }
        let query = StoreQueryItem.text(of: call.query)
        var target = url ?? ""
        if url == nil { target = try service.url(bucket: call.bucket, key: call.key) }
        if !query.isEmpty { target += "?\(query)" }
        var headers = call.headers
        // Set the content type explicitly: libcurl must not add a field that was not signed.
        if headers[.contentType] == nil, let body = call.body, body.contentType == nil {
            headers[.contentType] = "application/octet-stream"
        }
        var request = UploadRequest(
            call.method, target, headers: headers, content: call.body.map { .body($0) } ?? .empty, options: options)
        if call.form == nil { request.interceptors = [attemptSigner] }
        request.isRepeatable = call.isIdempotent
        return request
    }

    /// Converts an error of the session into an error of the store.
    private func read(
        _ error: UploadError, of call: StoreCall, _ basis: Basis, _ signed: SignedCall?
    ) -> FailedAttempt {
        var failure = StoreRetryDecision.Failure(outcome: error.outcome)
        failure.isCancelled = error.isCancelled
        // The cause of an interceptor failure is the signer's own error, which is more specific.
        if let inner = Self.storeError(in: error.cause) { return FailedAttempt(error: inner, facts: failure) }
        guard let response = error.response, error.code == .rejected else {
            return FailedAttempt(error: StoreError(error), facts: failure)
        }
        let reply = StoreErrorResponse(response)
        failure.status = response.status.code
        // The session has already retried the statuses of its retry policy.
        failure.isTransient =
            response.status.code < 429 && StoreErrorResponse.transientCodes.contains { $0 == reply.code }
        failure.region = service.otherRegion(in: reply, response, than: basis.region)
        failure.serverTime = reply.serverTime
        failure.dateField = response.date
        // The error of S3 to HEAD has no code: a clock that is wrong by more than stores accept is the likely cause.
        let isUnexplained = reply.form == .empty
        let signingDate = clock.local.addingTimeInterval(basis.clockCorrection)
        let offset = failure.dateField.map { abs($0.timeIntervalSince(signingDate)) } ?? 0
        failure.isClockError = reply.isClockError || isUnexplained && failure.status == 403 && offset > 900
        // With 400, Amazon S3 reports an expired token.
        let hasToken = isUnexplained && failure.status == 400 && signed?.credentials?.securityToken != nil
        failure.isCredentialError = reply.isCredentialError || hasToken && failure.region == nil
        var result = StoreError(reply, response, outcome: error.outcome, cause: error, store: service.name)
        // The gateway of Ceph reports a missing upload as a missing key.
        if reply.code == "NoSuchKey", call.query.contains(where: { $0.name == "uploadId" }) {
            result.code = .uploadGone
        }
        if StoreErrorResponse.mismatchCodes.contains(where: { $0 == reply.code }) {
            result.code = .checksumMismatch
            failure.isChecksumMismatch = call.method == .put
        }
        // The host that S3 reports is an opaque ID.
        if response.headers[.ossRequestID] == nil { result.host = nil }
        result.host = result.host ?? service.host
        if reply.code == "SignatureDoesNotMatch", let signed, let theirs = reply.stringToSign {
            let difference = OSSSignatureDifference(
                signed.stringToSign, signed.canonicalRequest, theirStringToSign: theirs,
                theirCanonicalRequest: reply.canonicalRequest)
            result.message = "The signature does not match. \(difference)"
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
    /// Returns the error of a request whose effect a query could not determine, with the reason.
    fileprivate func undetermined(_ reason: StoreError) -> StoreError {
        var error = self
        error.outcome = .unknown
        error.message += " It could not be determined whether the object was stored. \(reason.message)"
        return error
    }

    /// Adopts the store's details of the credential rejection, for an error that occurred before the store was reached.
    fileprivate mutating func adoptContext(of refusal: StoreError) {
        guard status == nil else { return }
        (status, storeCode, detailCode) = (refusal.status, refusal.storeCode, refusal.detailCode)
        (requestID, host, outcome) = (refusal.requestID, refusal.host, refusal.outcome)
        cause = cause ?? refusal
    }
}

extension UploadError {
    /// Whether the store may have acted on any attempt. A response with 503 can be that of a gateway.
    fileprivate var mayHaveActed: Bool {
        outcome == .unknown || attempts.contains { ($0.status?.code ?? 0) >= 500 }
    }
}
