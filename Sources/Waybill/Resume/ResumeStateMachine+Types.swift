// The types of the state.

extension ResumeStateMachine {
    /// The current request, or the reason why no request is running.
    enum Step: Sendable, Hashable {
        case idle
        case exchanging(ResumeExchange)
        /// Writing the record, then continuing.
        case saving
        /// Waiting because another request has locked the upload.
        case waiting
        /// Reading the body to find its end.
        case reading
    }

    /// An end that is held.
    enum HeldEnd: Sendable, Hashable {
        case none
        /// A failure or a lost response, which ends the attempt unless the server has acted.
        case failure
        /// A rejection of the protocol or of the application. It is the application's if the server no longer has the
        /// upload.
        case rejection
    }

    /// The counts of an attempt that limit how often a step is repeated.
    struct Counts: Sendable {
        var creations = 0
        var questions = 0
        var conflicts = 0
        var mismatches = 0
        var locks = 0
        var resends = 0
        var redirects = 0
    }
}
