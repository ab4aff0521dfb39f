import WaybillCore

// The responses to appends.

extension ResumeStateMachine {
    mutating func appended(
        _ reply: ResumeReply, _ range: Range<Int64>, isLast: Bool, _ transmission: Transmission
    ) -> [Action] {
        if isProcessed, range.isEmpty {
            // Only a response that is marked as final is the application's.
            return reply.isComplete == true ? finishReplayed(reply) : failProcessed()
        }
        if dialect != .tus, reply.isComplete == true {
            return finishCompleted(
                isWhole: isLast && transmission.isComplete || !reply.isSuccess, isSuccess: reply.isSuccess)
        }
        acknowledged = max(acknowledged, range.lowerBound + transmission.acknowledged)
        if reply.isSuccess { return appendedSuccessfully(reply, range, isLast: isLast, transmission) }
        if reply.mayHaveLostContent, !range.isEmpty { interrupted = range }
        let isWhole = isLast && transmission.isComplete
        let mayBeFinal = dialect != .tus && isWhole
        switch reply.status {
        // Some servers of version 6 do not mark the application's response, and then no longer have the upload.
        case let status where dialect == .draft6 && isWhole && Self.unmarkedStatuses.contains(status):
            return holdAndAsk(.rejection)
        case 404, 410: return gone()
        case 409: return conflicted(reply, range, mayBeFinal: mayBeFinal)
        case 413 where !range.isEmpty:
            let count = range.upperBound - range.lowerBound
            guard appendSize.reduce(below: count, limits: record.limits, isLimit: true) else {
                guard !mayBeFinal else { return finishWithResponse(isStored: false) }
                return fail(.resumptionFailed, "The server rejected an append of only \(count) bytes as too large.")
            }
            return mayBeFinal ? holdAndAsk(.rejection) : ask()
        case 423: return waitForLock()
        case 460: return damaged()
        // The draft has no status of its own for a wrong Content-Digest.
        case 400 where dialect != .tus && record.checksum != nil && !range.isEmpty: return damaged()
        case 405 where dialect == .tus && !avoidsMethods, 501 where dialect == .tus && !avoidsMethods:
            avoidsMethods = true
            return ask()
        case 307, 308: return redirected(reply)
        case 408 where isWhole, 500... where isWhole && reply.status != 503:
            mayBeProcessed = true
            return holdAndAsk()
        default:
            // The application's rejection, or a failure that the policy for retries evaluates.
            let isFinal = isWhole && reply.status < 500 && reply.status != 429
            return isFinal ? finishWithResponse(isStored: false) : finish(.last(isFinal: false))
        }
    }

    private static let unmarkedStatuses: Set<Int> = [400, 404, 410, 423]

    /// The bytes of an append do not have its checksum.
    private mutating func damaged() -> [Action] {
        counts.resends += 1
        guard counts.resends <= 3 else {
            return fail(
                .resumptionFailed,
                "The server rejected the same bytes repeatedly: they do not have the checksum \(record.checksum ?? "")"
                    + " of the request. Check the proxies before the server.")
        }
        return ask()
    }

    private mutating func finishReplayed(_ reply: ResumeReply) -> [Action] {
        isProcessed = false
        return finishWithResponse(isStored: reply.isSuccess)
    }

    private mutating func appendedSuccessfully(
        _ reply: ResumeReply, _ range: Range<Int64>, isLast: Bool, _ transmission: Transmission
    ) -> [Action] {
        if isLast {
            mayBeProcessed = true
            // Some servers of version 6 have the field inverted, and a success after all bytes is the application's.
            if dialect == .draft6 || dialect == .draft8 && reply.isComplete == nil { return finishWithResponse() }
            if dialect == .tus, reply.offset == length { return confirm(length) + finishWithResponse() }
            return ask()
        }
        guard let offset = reply.offset else { return ask() }
        guard offset == range.upperBound else {
            counts.mismatches += 1
            guard counts.mismatches <= 1 else {
                return fail(
                    .resumptionFailed,
                    "The server reported \(offset) stored bytes after an append that ends at \(range.upperBound).")
            }
            return ask()
        }
        appendSize.succeeded(length: range.upperBound - range.lowerBound, after: transmission.time)
        return confirm(offset) + continueUpload()
    }

    /// The server has stored another number of bytes than the append assumed.
    private mutating func conflicted(_ reply: ResumeReply, _ range: Range<Int64>, mayBeFinal: Bool) -> [Action] {
        counts.conflicts += 1
        guard counts.conflicts < 3 else {
            return failContradicted(
                "The server rejected an append at \(range.lowerBound), which it had reported as its offset.")
        }
        if mayBeFinal, reply.offset ?? range.upperBound == range.upperBound { return holdAndAsk(.rejection) }
        guard let offset = reply.offset, offset != range.lowerBound, offset >= record.offset, offset <= sentEnd
        else {
            return ask()
        }
        return confirm(offset) + continueUpload()
    }
}
