import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// One request to OSS, whole, before it has a date or a signature.
struct OSSCall: Sendable {
    var method: HTTPRequest.Method
    var bucket: String
    /// Empty for a request to the bucket.
    var key: String
    var query: [StoreQueryItem] = []
    var headers: HTTPFields = [:]
    var body: (any UploadBody)?
    /// The bytes of the object that it carries, for the progress.
    var size: Int64?
    /// Whether doing it twice is doing it once, so that nobody has to look before it is repeated.
    var isIdempotent = false
    /// Makes the body for a date by the store's clock, with other credentials than before if those were refused: a form,
    /// which brings its own signature.
    var form: (@Sendable (_ date: Date, _ isRefused: Bool) async throws(StoreError) -> any UploadBody)?

    init(_ method: HTTPRequest.Method, bucket: String, key: String) {
        self.method = method
        self.bucket = bucket
        self.key = key
    }
}

/// Dates and signs each attempt of one call, by the store's clock and with the credentials of the moment.
final class OSSAttemptSigner: UploadInterceptor {
    private struct State: Sendable {
        var rejecting: StoreCredentials?
        var last: OSSSignedRequest?
    }

    private let call: OSSCall
    private let signer: any ObjectStoreSigner
    private let rules: OSSSigningRules
    private let clock: StoreClock
    private let state = Locked(State())

    init(_ call: OSSCall, signer: any ObjectStoreSigner, rules: OSSSigningRules, clock: StoreClock) {
        self.call = call
        self.signer = signer
        self.rules = rules
        self.clock = clock
    }

    var name: String { "OSS signature" }

    /// What was signed last.
    var last: OSSSignedRequest? { state.withLock { $0.last } }

    /// From now on, other credentials are wanted than those that signed last.
    func rejectCredentials() { state.withLock { $0.rejecting = $0.last?.credentials } }

    func adapt(_ request: inout OutgoingRequest) async throws {
        var plain = OSSRequestToSign(
            request.method, bucket: call.bucket, key: call.key.isEmpty ? nil : call.key, query: call.query,
            headers: request.headers)
        plain.headers[.authorization] = nil
        let signed = try await signer.sign(
            plain, rules: rules, at: clock.date, rejecting: state.withLock { $0.rejecting })
        state.withLock { $0.last = signed }
        request.headers = signed.headers
        request.query = signed.queryText
    }
}
