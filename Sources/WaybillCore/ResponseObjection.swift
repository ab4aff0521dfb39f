/// What was found wrong with an answer whose status is accepted: the server says no in the body, or nobody could read it.
package struct ResponseObjection: Sendable {
    package enum Kind: Sendable, Hashable {
        /// The envelope says no.
        case rejected
        /// The envelope says that the credential is no longer good.
        case credentialExpired
        /// The envelope says "not now".
        case retry
        /// Nobody could tell: whoever was to look at the answer failed. The name is that of an error's code.
        case unreadable(String)
        /// The upload was cancelled before somebody had looked at it.
        case cancelled
    }

    package var kind: Kind
    /// The code of the envelope, as text; empty when there is none.
    package var code: String
    /// What the envelope says, or why nobody could tell.
    package var message: String
    package var cause: (any Error)?

    package init(_ kind: Kind, code: String = "", message: String, cause: (any Error)? = nil) {
        self.kind = kind
        self.code = code
        self.message = message
        self.cause = cause
    }
}
