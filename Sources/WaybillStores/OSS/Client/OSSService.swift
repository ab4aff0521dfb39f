import FoundationEssentials
import HTTPTypes
import Waybill

/// The protocol of OSS.
struct OSSService: StoreService {
    let endpoint: OSSEndpoint
    let signer: any ObjectStoreSigner
    let rules: OSSSigningRules

    var name: String { "OSS" }
    var host: String { endpoint.host }

    func checkKey(_ key: String) throws(StoreError) { try OSSName.checkKey(key) }

    func url(bucket: String, key: String) throws(StoreError) -> String {
        try endpoint.url(bucket: bucket, key: key)
    }

    func sign(
        _ call: StoreCall, _ method: HTTPRequest.Method, at location: String, headers: HTTPFields, date: Date,
        rejecting: StoreCredentials?
    ) async throws(StoreError) -> SignedCall {
        let request = OSSRequestToSign(
            method, bucket: call.bucket, key: call.key.isEmpty ? nil : call.key, query: call.query, headers: headers)
        let signed = try await signer.sign(request, rules: rules, at: date, rejecting: rejecting)
        return SignedCall(
            headers: signed.headers, queryText: signed.queryText, stringToSign: signed.stringToSign,
            canonicalRequest: signed.canonicalRequest, credentials: signed.credentials)
    }

    /// Throws if a successful response is a failed callback or does not come from OSS.
    func accept(_ response: UploadResponse, of call: StoreCall) throws(StoreError) {
        // A transforming proxy responds with 203, too (RFC 9110 section 15.3.4).
        let requestsCallback = call.form != nil || call.headers[.ossCallback] != nil
        if response.status.code == 203, response.headers[.ossRequestID] != nil, requestsCallback {
            throw StoreError(callbackFailed: response)
        }
        guard response.status.code != 203, response.headers[.ossRequestID] != nil else {
            throw StoreError(foreign: response, store: name)
        }
    }
}
