import HTTPTypes
import WaybillCore

// Parts of the body that are uploaded concurrently and joined by the server (tus 1.0.0, extension concatenation).

extension ResumeStateMachine {
    /// Divides the body into parts and uploads them; returns `nil` if it is sent in order.
    mutating func createParts() -> [Action]? {
        guard let length = knownLength, dialect == .tus, !isPart, support.tusExtensions.contains("concatenation") else {
            return nil
        }
        let allowed = Int64(min(max(1, options.parallelParts), Self.maximumParts))
        let count = min(allowed, length / max(1, options.minimumLength.bytes))
        guard count > 1 else { return nil }
        record.dialect = dialect
        record.parts = (0..<count).map { number in
            var part = ResumeRecord(length: length / count + (number < length % count ? 1 : 0))
            part.dialect = dialect
            return part
        }
        return send(.parts)
    }

    /// Continues the parts of an earlier attempt, whatever their number in the options.
    mutating func continueParts() -> [Action] {
        // An earlier process may have sent the concatenation, about which the server can't be asked.
        if record.isCompleting, mayBeProcessed {
            return forget()
                + fail(
                    .responseLost,
                    "The server may have joined the parts of the upload, but its response was lost. Look for the file at "
                        + "the server before you send it again.")
        }
        record.isCompleting = false
        return send(.parts)
    }

    mutating func partsEnded(_ parts: [ResumeRecord], areStored: Bool, acknowledged: Int64) -> [Action] {
        record.parts = parts
        record.offset = parts.reduce(0) { $0 + $1.offset }
        self.acknowledged = acknowledged
        guard areStored else { return finish(.last(isFinal: false)) }
        // On the disk first: after a crash, the record alone tells that the server may have acted.
        record.isCompleting = true
        return save()
    }

    /// Asks the server to join the parts.
    mutating func concatenate(_ parts: [ResumeRecord]) -> [Action] {
        let urls = parts.compactMap(\.url)
        guard urls.count == parts.count else {
            return fail(.resumptionFailed, "A part of the upload has no URL. Send it again.")
        }
        return send(.concatenate(urls))
    }

    /// The response to the concatenation, which is that of the application.
    mutating func concatenated(_ reply: ResumeReply) -> [Action] {
        if reply.isSuccess {
            guard reply.isOfProtocol, let url = reply.location.flatMap({ resolved($0, against: target) }) else {
                return loseConcatenation(
                    .failed(
                        .resumptionFailed,
                        "The server responded with \(reply.status) to the concatenation of the parts, but not with the "
                            + "URL of the upload. Look for the file at the server before you send it again.", .unknown))
            }
            record.url = url
            return finishWithResponse()
        }
        let evidence = TransferCounters(isBodyComplete: true, sawResponseHead: true)
        let outcome = UploadOutcome(
            of: evidence, status: HTTPResponse.Status(code: reply.status), isResponseComplete: true)
        guard !outcome.mayHaveActed else { return loseConcatenation(.last(isFinal: false)) }
        record.isCompleting = false
        // Each part is asked for its offset once more, and a part that is gone is uploaded again.
        if Self.missingPartStatuses.contains(reply.status), counts.conflicts == 0 {
            counts.conflicts += 1
            return [.save(record)] + send(.parts)
        }
        return [.save(record)] + finish(.last(isFinal: false))
    }

    /// The concatenation ended without a response.
    mutating func concatenationFailed(_ transmission: Transmission) -> [Action] {
        guard !transmission.isComplete else { return loseConcatenation(.last(isFinal: false)) }
        record.isCompleting = false
        return [.save(record)] + finish(.last(isFinal: false))
    }

    /// The server may have joined the parts. A second concatenation could create a second file, so it is sent only if
    /// the policy for retries allows that for an unknown outcome.
    private mutating func loseConcatenation(_ ending: Ending) -> [Action] {
        mayBeProcessed = true
        record.isCompleting = false
        return [.forget(isStored: false)] + finish(ending)
    }

    /// The responses of servers to the concatenation of a part that does not exist, or that is not complete.
    private static let missingPartStatuses: Set<Int> = [400, 404, 409, 410]
    private static let maximumParts = 16
}

extension ResumeRecord {
    /// Whether an upload, or a part of it, has a URL.
    var canContinue: Bool { url != nil || parts?.contains { $0.url != nil } == true }

    /// Whether the parts, if there are any, are the whole body.
    var hasWholeBody: Bool {
        guard let parts else { return true }
        return parts.allSatisfy { $0.length > 0 && 0...$0.length ~= $0.offset && $0.length <= length }
            && parts.reduce(0) { $0 + $1.length } == length
    }
}
