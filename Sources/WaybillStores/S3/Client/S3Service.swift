import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore

/// The protocol of Amazon S3, with the regions of buckets as learned from the store.
final class S3Service: StoreService {
    let profile: S3Profile
    private let endpoint: String
    private let addressing: S3Profile.Addressing
    private let region: String
    private let credentials: CredentialProvider
    /// The regions of buckets that are not in the configured one.
    private let regions = Locked<[String: String]>([:])
    /// The address for the configured region.
    let address: StoreAddress

    init(_ configuration: S3Client.Configuration, _ credentials: CredentialProvider) throws(StoreError) {
        profile = configuration.profile
        (endpoint, region) = try configuration.location()
        self.credentials = credentials
        addressing = configuration.addressing ?? profile.addressing
        address = try Self.address(endpoint, region)
    }

    var name: String { profile.name }
    var host: String { address.host }

    func checkKey(_ key: String) throws(StoreError) { try S3Name.checkKey(key) }

    func url(bucket: String, key: String) throws(StoreError) -> String {
        try S3Name.checkBucket(bucket)
        let address = try Self.address(endpoint, region(of: bucket))
        let path = PercentEncoding.path(key)
        let isPrefixed = !address.isNumeric && !(address.isEncrypted && bucket.contains("."))
        guard addressing == .virtualHost, isPrefixed else {
            return "\(address.scheme)://\(address.host)\(address.path)/\(bucket)/\(path)"
        }
        guard !address.host.hasPrefix("\(bucket).") else {
            throw StoreError(
                .invalidEndpoint,
                "The endpoint \(StoreError.shown(address.host)) already begins with the bucket. Specify the endpoint "
                    + "without the bucket.")
        }
        return "\(address.scheme)://\(bucket).\(address.host)\(address.path)/\(path)"
    }

    func sign(
        _ call: StoreCall, _ method: HTTPRequest.Method, at location: String, headers: HTTPFields, date: Date,
        rejecting: StoreCredentials?
    ) async throws(StoreError) -> SignedCall {
        let credentials = try await credentials.credentials(at: date, rejecting: rejecting)
        let payload = call.body == nil ? MessageAuthentication.sha256Text("") : call.payloadHash
        let request = S3RequestToSign(method, location, query: call.query, headers: headers, payloadHash: payload)
        let scope = S3SignatureV4.Scope(date: date, region: region(of: call.bucket), product: "s3")
        let signed = try request.signed(with: credentials, scope: scope)
        return SignedCall(
            headers: signed.headers, queryText: call.query.isEmpty ? nil : StoreQueryItem.text(of: call.query),
            stringToSign: signed.stringToSign, canonicalRequest: signed.canonicalRequest, credentials: credentials)
    }

    /// Throws if a successful response does not come from a store: the protocol has no field that all stores send, but
    /// each success has its form.
    func accept(_ response: UploadResponse, of call: StoreCall) throws(StoreError) {
        let isOurs =
            switch call.method {
            case .put, .head: response.headers[.eTag] != nil
            case .delete: response.body.isEmpty
            case .post: try isResult(response)
            default: true
            }
        guard isOurs, response.status.code != 203 else { throw StoreError(foreign: response, store: name) }
    }

    /// Whether a body is XML.
    ///
    /// - Throws: The error in it: a completion that takes long begins its response with 200 before it may fail.
    private func isResult(_ response: UploadResponse) throws(StoreError) -> Bool {
        guard let root = try? BoundedXMLParser.read(response.body) else { return false }
        guard root.name == "Error" else { return true }
        var error = StoreError(
            StoreErrorResponse(response), response, outcome: .rejected, cause: nil, store: name)
        error.host = host
        throw error
    }

    // MARK: Regions

    func otherRegion(in reply: StoreErrorResponse, _ response: UploadResponse, than region: String) -> String? {
        // 301 and 307 from a host of another region, 400 for a signature with the wrong region.
        guard [301, 307, 400].contains(response.status.code), let other = reply.region, other != region
        else { return nil }
        // Do not follow `Location`: the region is put into the configured endpoint, so no other host gets a signature.
        do throws(StoreError) {
            try S3Name.checkRegion(other)
            return other
        } catch {
            return nil
        }
    }

    func move(_ bucket: String, to region: String) { regions.withLock { $0[bucket] = region } }

    func region(of bucket: String) -> String { regions.withLock { $0[bucket] } ?? region }

    private static func address(_ endpoint: String, _ region: String) throws(StoreError) -> StoreAddress {
        let parts = endpoint.split(separator: "{region}", omittingEmptySubsequences: false)
        return try StoreAddress(parts.joined(separator: region), like: "https://s3.eu-west-1.amazonaws.com")
    }
}
