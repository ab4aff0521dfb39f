import HTTPTypes
import WaybillCore

/// What a server offers for resumable uploads at a URL, as its responses to OPTIONS show.
package struct ResumeOffer: Sendable, Hashable {
    /// The versions of tus, in the server's order.
    package var tusVersions: [String] = []
    /// The extensions of tus, sorted.
    package var tusExtensions: [String] = []
    /// The interop versions of the IETF draft, of 8 and 6.
    package var draftVersions: [Int] = []
    /// The maximum length of a body.
    package var maximumLength: Int64?
    /// The maximum length of an append.
    package var maximumAppend: Int64?
}

extension UploadSession {
    /// Asks a server what it offers. Two requests without a body are sent, which have no effect.
    package func resumeOffer(of url: String) async throws(UploadError) -> ResumeOffer {
        var offer = ResumeOffer()
        var options = options
        options.accepts = .any
        options.retry = .none
        for (dialect, version) in [(ResumeDialect.draft8, 8), (.draft6, 6)] {
            let context = ResumeDialect.Context(method: .post, length: 0)
            let parts = dialect.request(for: .options, context)
            let response = try await send(UploadRequest(parts.method, url, headers: parts.fields, options: options))
            let reply = dialect.offer(HTTPResponse(status: response.status, headerFields: response.headers))
            guard reply.isSuccess else { continue }
            if reply.offersDraft { offer.draftVersions.append(version) }
            if !reply.tusVersions.isEmpty {
                offer.tusVersions = reply.tusVersions
                offer.tusExtensions = reply.tusExtensions.sorted()
            }
            offer.maximumLength = offer.maximumLength ?? reply.limits?.maximumLength
            offer.maximumAppend = offer.maximumAppend ?? reply.limits?.maximumAppend
        }
        return offer
    }
}
