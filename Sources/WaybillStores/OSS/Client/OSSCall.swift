import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// A complete request to OSS, before it is dated and signed.
struct OSSCall: Sendable {
    var method: HTTPRequest.Method
    var bucket: String
    /// The object key; empty for a request to the bucket.
    var key: String
    var query: [StoreQueryItem] = []
    var headers: HTTPFields = [:]
    var body: (any UploadBody)?
    /// The number of object bytes in the body, for progress.
    var size: Int64?
    /// Whether the request is idempotent, so that it can be repeated without querying the store first.
    var isIdempotent = false
    /// Creates the body of a form, which carries its own signature, for a date by the store's clock. If `isRefused`,
    /// the previous credentials were rejected and others are used.
    var form: (@Sendable (_ date: Date, _ isRefused: Bool) async throws(StoreError) -> any UploadBody)?

    init(_ method: HTTPRequest.Method, bucket: String, key: String) {
        self.method = method
        self.bucket = bucket
        self.key = key
    }
}

/// Dates and signs each attempt of one call, by the store's clock and with the current credentials.
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

    /// The request as it was last signed.
    var last: OSSSignedRequest? { state.withLock { $0.last } }

    /// Requests different credentials for the following attempts than those that signed the last one.
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
