import WaybillCore

/// What is known of a server's support for resumable uploads at one URL.
struct ResumeSupport: Sendable, Hashable {
    /// Whether the server was asked.
    var isKnown = false
    var tusVersions: [String] = []
    var tusExtensions: Set<String> = []
    var tusChecksums: [String] = []
    var limits: ResumeLimits?
    /// Whether its response to OPTIONS shows that it supports the draft.
    var offersDraft = false
    /// Whether it has sent an interim response with the URL of an upload.
    var sendsInterim = false
    /// Whether it supports interop version 6 of the draft, and not version 8.
    var usesDraft6 = false
    /// Whether it rejected a protocol that it had offered, so that bodies are sent as ordinary requests.
    var isOrdinary = false
}
