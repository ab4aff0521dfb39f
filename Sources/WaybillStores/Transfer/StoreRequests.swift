import Waybill
import WaybillCore

extension UploadOptions {
    /// Returns the options of every signed request to a store. The session's own header fields and interceptors are
    /// excluded: they would change the signed request.
    static func signed(_ transfer: TransferOptions, _ retry: RetryPolicy) -> UploadOptions {
        var options = UploadOptions(transfer: transfer, retry: retry)
        options.excludedDefaults = [.headers, .commonFields, .interceptors, .cookies]
        // The store is queried after a lost response before anything is sent again.
        options.retry.retriesLostResponses = false
        // A redirect would send the signature, or a form's policy and security token, to another host.
        options.redirects = .returned
        return options
    }
}

extension TransferOptions {
    /// Throws ``StoreError/Code/encryptionRequired`` for an endpoint without TLS, unless it is allowed, and for TLS
    /// without verification.
    func checkEncryption(of endpoint: String, isEncrypted: Bool) throws(StoreError) {
        guard isEncrypted else {
            throw StoreError(
                .encryptionRequired, "The endpoint \(endpoint) is not encrypted. \(Remedy.allowUnencrypted)")
        }
        guard !tls.insecureSkipVerification, !proxyTLS.insecureSkipVerification else {
            throw StoreError(
                .encryptionRequired,
                "Credentials are not sent to a store whose certificate is not verified. "
                    + "\(Remedy.trustAuthorityOfStore)")
        }
    }
}
