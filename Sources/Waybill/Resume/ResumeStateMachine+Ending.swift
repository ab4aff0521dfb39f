import WaybillCore

// The end of an attempt.

extension ResumeStateMachine {
    mutating func finish(_ ending: Ending) -> [Action] {
        step = .idle
        return [.finish(ending)]
    }

    mutating func fail(_ code: UploadError.Code, _ message: String) -> [Action] {
        finish(.failed(code, message, outcome))
    }

    /// Finishes with the response of the application. `isStored`: it is a success.
    mutating func finishWithResponse(isStored: Bool = true) -> [Action] {
        let isKnown = record.url != nil
        if dialect == .tus { storedURL = record.url }
        if isPart { return finish(.last(isFinal: true)) }
        record = ResumeRecord(length: length)
        mayBeProcessed = false
        return (isKnown ? [.forget(isStored: isStored)] : []) + finish(.last(isFinal: true))
    }

    /// Removes the upload at the server, forgets it and fails.
    mutating func abandonAndFail(_ code: UploadError.Code, _ message: String) -> [Action] {
        let ending = Ending.failed(code, message, outcome)
        guard let url = record.url else { return finish(ending) }
        return [.abandon(url: url)] + forget() + finish(ending)
    }

    /// Fails because of a response that contradicts the protocol. A record of an earlier process is forgotten: it could
    /// make every later upload fail.
    mutating func failContradicted(_ message: String) -> [Action] {
        let ending = Ending.failed(.resumptionFailed, message, outcome)
        return (isLoaded ? forget() : []) + finish(ending)
    }

    /// Forgets the upload, so that the next one starts anew.
    mutating func forget() -> [Action] {
        record = ResumeRecord(length: length)
        interrupted = nil
        redirectedURL = nil
        (sentEnd, durableEnd) = (0, 0)
        return [.forget(isStored: false)]
    }
}
