import Crypto
import Foundation
public import Waybill

/// Makes a session for a backend that wants its parameters signed and seals its answers.
///
/// Three interceptors do it: the form is signed when all its fields are there, the answer is opened before anybody reads it,
/// and its envelope tells a yes from a no.
public func makeSession(_ baseURL: String, signingKey: [UInt8], sealingKey: [UInt8]) -> UploadSession {
    var signer = ParameterSigner { HMAC<SHA256>.authenticationCode(for: $0, using: SymmetricKey(data: signingKey)) }
    signer.output = .base64
    var configuration = UploadSession.Configuration()
    configuration.baseURL = baseURL
    configuration.userAgent = UploadSession.Configuration.userAgent(for: "SealedAnswers", version: "1.0")
    configuration.commonFields = CommonFields {
        [.text("timestamp", "\(Int(Date().timeIntervalSince1970))"), .text("channel", "柜台 7")]
    }
    configuration.interceptors = [
        .signingForms(with: signer, field: "sign"),
        JSONEnvelope(code: "code", message: "message", successCodes: ["0"]),
        .transforming("open the answer") { sealed in
            Array(try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: SymmetricKey(data: sealingKey)))
        },
    ]
    return UploadSession(configuration: configuration)
}

/// What the backend says of a form that it took.
public struct Receipt: Decodable, Sendable {
    /// The part behind the envelope.
    public struct Data: Decodable, Sendable {
        /// The number under which the form is kept.
        public let number: Int
        /// The business that the form named.
        public let business: String
    }

    /// What was stored.
    public let data: Data
}
