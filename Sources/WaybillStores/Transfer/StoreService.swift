import FoundationEssentials
import HTTPTypes
import Waybill

/// The parts of a store's protocol that differ between the stores of ``StoreCaller``.
protocol StoreService: Sendable {
    /// The store as the subject of error messages.
    var name: String { get }
    /// The host of the endpoint, for errors.
    var host: String { get }

    /// Throws unless the key follows the rules of the store.
    func checkKey(_ key: String) throws(StoreError)

    /// Returns the URL of an object, or of the bucket if the key is empty, without a query.
    func url(bucket: String, key: String) throws(StoreError) -> String

    /// Signs an attempt of a call.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - method: The HTTP method.
    ///   - location: The URL without its query.
    ///   - headers: The header fields as they will be sent.
    ///   - date: The date by the store's clock.
    ///   - rejecting: The credentials that the store has just rejected, if any.
    /// - Returns: The header fields and the query to send.
    /// - Throws: The reason why the request can't be signed.
    func sign(
        _ call: StoreCall, _ method: HTTPRequest.Method, at location: String, headers: HTTPFields, date: Date,
        rejecting: StoreCredentials?
    ) async throws(StoreError) -> SignedCall

    /// Throws if a successful response is a failure nonetheless, or does not come from the store.
    func accept(_ response: UploadResponse, of call: StoreCall) throws(StoreError)

    /// Returns the region of a bucket, as far as it is known; empty if requests do not depend on it.
    func region(of bucket: String) -> String

    /// Returns the region of the bucket if an error response reports another one than that of the request.
    func otherRegion(in reply: StoreErrorResponse, _ response: UploadResponse, than region: String) -> String?

    /// Sends all later requests for a bucket to another region.
    func move(_ bucket: String, to region: String)
}

extension StoreService {
    func region(of bucket: String) -> String { "" }

    func otherRegion(in reply: StoreErrorResponse, _ response: UploadResponse, than region: String) -> String? { nil }

    func move(_ bucket: String, to region: String) {}
}

/// An attempt of a call with its signature.
struct SignedCall: Sendable {
    var headers: HTTPFields
    /// The percent-encoded query without `?`; `nil` if empty.
    var queryText: String?
    /// The string that was signed, for comparison with the store's after a signature mismatch.
    var stringToSign: String
    /// The string whose hash is part of ``stringToSign`` in version 4; `nil` for version 1.
    var canonicalRequest: String?
    /// The credentials that signed; `nil` if the signature was created elsewhere.
    var credentials: StoreCredentials?
}
