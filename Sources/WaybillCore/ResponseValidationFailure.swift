/// The reason why a response with an accepted status is no success: its body reports a failure or is unreadable.
package struct ResponseValidationFailure: Sendable {
    package enum Kind: Sendable, Hashable {
        /// The envelope reports a rejection.
        case rejected
        /// The envelope reports that the credential has expired.
        case credentialExpired
        /// The envelope asks for a later retry.
        case retry
        /// The response could not be evaluated. The associated value is the name of an error code.
        case unreadable(String)
        /// The upload was cancelled before the response was evaluated.
        case cancelled
    }

    package var kind: Kind
    /// The code of the envelope as text, or an empty string if it has none.
    package var code: String
    /// The envelope's message, or the reason why the response could not be evaluated.
    package var message: String
    package var cause: (any Error)?

    package init(_ kind: Kind, code: String = "", message: String, cause: (any Error)? = nil) {
        self.kind = kind
        self.code = code
        self.message = message
        self.cause = cause
    }
}
