import Crypto
import Foundation
public import Waybill

/// Returns a session for a backend that requires signed parameters and encrypts its responses.
///
/// It has three interceptors: one signs the complete form, one decrypts the response, and one reads success or
/// rejection from the envelope. Responses pass them from the last to the first.
public func makeSession(_ baseURL: String, signingKey: [UInt8], encryptionKey: [UInt8]) -> UploadSession {
    var signer = ParameterSigner { HMAC<SHA256>.authenticationCode(for: $0, using: SymmetricKey(data: signingKey)) }
    signer.output = .base64
    var configuration = UploadSession.Configuration()
    configuration.baseURL = baseURL
    configuration.userAgent = UploadSession.Configuration.userAgent(for: "EncryptedResponses", version: "1.0")
    configuration.commonFields = CommonFields {
        [.text("timestamp", "\(Int(Date().timeIntervalSince1970))"), .text("channel", "柜台 7")]
    }
    configuration.interceptors = [
        .signingForms(with: signer, field: "sign"),
        JSONEnvelope(code: "code", message: "message", successCodes: ["0"]),
        .transforming("decrypt the response") { encrypted in
            Array(try AES.GCM.open(AES.GCM.SealedBox(combined: encrypted), using: SymmetricKey(data: encryptionKey)))
        },
    ]
    return UploadSession(configuration: configuration)
}

/// The response of the backend to an accepted form.
public struct Receipt: Decodable, Sendable {
    /// The payload of the envelope.
    public struct Data: Decodable, Sendable {
        /// The number of the stored form.
        public let number: Int
        /// The business number of the form.
        public let business: String
    }

    /// The payload.
    public let data: Data
}
