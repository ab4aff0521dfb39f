import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore
import WaybillMultipart

/// A complete request to a store, before it is dated and signed.
struct StoreCall: Sendable {
    var method: HTTPRequest.Method
    var bucket: String
    /// The object key; empty for a request to the bucket.
    var key: String
    /// Whether the request is to the bucket. Otherwise an empty key is an error.
    var isToBucket = false
    var query: [StoreQueryItem] = []
    var headers: HTTPFields = [:]
    var body: (any UploadBody)?
    /// The SHA-256 of the body in hexadecimal digits, if the signature is to cover it.
    var payloadHash: String?
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
final class AttemptSigner: UploadInterceptor {
    private struct State: Sendable {
        var rejecting: StoreCredentials?
        var last: SignedCall?
    }

    private let call: StoreCall
    private let service: any StoreService
    private let clock: StoreClock
    private let state = Locked(State())

    init(_ call: StoreCall, service: any StoreService, clock: StoreClock) {
        self.call = call
        self.service = service
        self.clock = clock
    }

    var name: String { "signature for the store" }

    /// The request as it was last signed.
    var last: SignedCall? { state.withLock { $0.last } }

    /// Requests different credentials for the following attempts than those that signed the last one.
    func rejectCredentials() { state.withLock { $0.rejecting = $0.last?.credentials } }

    func adapt(_ request: inout OutgoingRequest) async throws {
        request.headers[.authorization] = nil
        let location = request.url.utf8.prefix { $0 != UInt8(ascii: "?") }
        let signed = try await service.sign(
            call, request.method, at: String(Substring(location)), headers: request.headers, date: clock.date,
            rejecting: state.withLock { $0.rejecting })
        state.withLock { $0.last = signed }
        request.headers = signed.headers
        request.query = signed.queryText
    }
}
