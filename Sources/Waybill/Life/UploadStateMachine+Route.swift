import HTTPTypes
import WaybillCore

// Responses that continue the upload: with another credential, or at another location.

extension UploadStateMachine {
    /// Returns whether another credential may help. It is tried once, and only where credentials are sent.
    func mayRefresh(after verdict: AttemptVerdict) -> Bool {
        guard !hasRefreshed, verdict.isCredentialRejected, let head = verdict.response?.head else { return false }
        guard rules.canRefresh || rules.answersChallenges && Self.hasStaleChallenge(head) else { return false }
        guard let hop = route?.hop else { return isReplayable }
        return hop.sendsCredentials && (isReplayable || !hop.sendsBody)
    }

    /// Returns whether the credentials were valid and only the nonce had expired (RFC 7616 section 3.3).
    private static func hasStaleChallenge(_ head: HTTPResponse) -> Bool {
        head.headerFields[values: .wwwAuthenticate].contains { challenges in
            challenges.lowercased().filter { $0 != " " && $0 != "\"" }.split(separator: ",").contains {
                $0.hasSuffix("stale=true")
            }
        }
    }

    /// Returns the action for a redirect, or `nil` if the response is not a redirect or redirects are not followed.
    mutating func redirect(
        _ record: AttemptRecord, _ transferEnd: TransferEnd, _ verdict: inout AttemptVerdict
    ) -> [Action]? {
        guard var route, let head = verdict.response?.head, var failure = verdict.failure else { return nil }
        guard failure.code == .rejected else { return nil }
        switch route.decision(after: head, isReplayable: isReplayable) {
        case .none: return nil
        case .ignore(let message):
            verdict.failure?.message = message
            return nil
        case .refuse(let code, let message):
            failure.code = code
            failure.message = message
            verdict.failure = failure
            history.add(record, transferEnd, verdict, disposition: .end)
            return fail(failure)
        case .follow(let next):
            failure.code = .redirected
            // A server that redirects to another resource without the body may have accepted the body.
            if route.hop.sendsBody, !next.sendsBody { failure.outcome = .unknown }
            verdict.failure = failure
            route.follow(next, status: head.status)
            self.route = route
            history.redirects = route.redirects
            history.add(record, transferEnd, verdict, disposition: .redirect(to: Redaction.url(next.url)))
            return [
                .redirect(next), beginAttempt(remainingLimits(of: failure)), .requeue(isHeld: snapshot.isPaused),
            ]
        }
    }
}
