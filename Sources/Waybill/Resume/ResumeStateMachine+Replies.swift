import WaybillCore

// The responses to requests.

extension ResumeStateMachine {
    mutating func replied(
        _ reply: ResumeReply, to exchange: ResumeExchange, _ transmission: Transmission
    ) -> [Action] {
        switch exchange {
        case .options: return (isUploadUnreachable ? forgetUnreachable() : []) + offered(reply)
        case .create(let range, let isLast): return created(reply, range, isLast: isLast, transmission)
        case .offset: return answered(reply)
        case .append(let range, let isLast): return appended(reply, range, isLast: isLast, transmission)
        case .ordinary: return finish(.last(isFinal: true))
        case .concatenate: return concatenated(reply)
        case .delete, .parts: return []
        }
    }

    /// A request ended without a response.
    mutating func failed(_ exchange: ResumeExchange, _ transmission: Transmission) -> [Action] {
        switch exchange {
        case .options where isUploadUnreachable: return finish(.last(isFinal: false))
        case .options:
            // The creation will show the reason, or that only OPTIONS fails. The server is asked again next time.
            return choose()
        case .ordinary: return finish(.last(isFinal: true))
        case .offset:
            unansweredQuestions += 1
            // A record whose URL is at another origin may be useless forever: then that of the request responds.
            guard isUploadUnreachable else { return finish(heldEnd == .failure ? .held : .last(isFinal: false)) }
            dialect = .draft8
            return send(.options)
        case .append(let range, _) where isProcessed && range.isEmpty: return failProcessed()
        case .create, .append:
            interrupted = exchange.range
            if case .create(let range, _) = exchange, !range.isEmpty, record.url == nil {
                loseCreation(range, isLimit: false)
            }
            acknowledged = max(acknowledged, (exchange.range?.lowerBound ?? 0) + transmission.acknowledged)
            guard exchange.completesBody, transmission.isComplete else { return finish(.last(isFinal: false)) }
            mayBeProcessed = true
            return record.url == nil ? finish(.last(isFinal: false)) : holdAndAsk()
        case .concatenate: return concatenationFailed(transmission)
        case .delete, .parts: return []
        }
    }

    /// Whether the URL of an earlier process's upload, at another origin, does not respond.
    private var isUploadUnreachable: Bool {
        unansweredQuestions >= Self.maximumUnansweredQuestions && isLoaded && !mayBeProcessed && heldEnd == .none
            && record.url != nil && !isAtTarget(record.url)
    }

    private mutating func forgetUnreachable() -> [Action] {
        unansweredQuestions = 0
        return forget()
    }

    private static let maximumUnansweredQuestions = 3

    /// Asks the server at once whether it has acted, so that the outcome is known even without another attempt.
    mutating func holdAndAsk(_ end: HeldEnd = .failure) -> [Action] {
        heldEnd = end
        return [.hold] + ask()
    }

    /// An interim response, which only the draft has.
    mutating func interim(_ reply: ResumeReply, during exchange: ResumeExchange) -> [Action] {
        guard reply.isOfProtocol, dialect != .tus else { return [] }
        var actions: [Action] = []
        if let limits = reply.limits { record.limits = limits }
        if case .create = exchange, let location = reply.location, let url = resolved(location, against: target) {
            if let announcedURL, announcedURL != url { return [] }
            announcedURL = url
            support.sendsInterim = true
            if record.url == nil {
                record.url = url
                actions.append(.save(record))
            }
        }
        if let offset = reply.offset, offset <= length {
            actions.append(.stored(StoredProgress(bytes: offset, isConfirmed: false)))
        }
        return actions
    }

    /// Returns an absolute URL; `nil` if the location is invalid, or leads from `https` to `http`.
    func resolved(_ location: String, against base: String) -> String? {
        var url = URLReference(location: location).resolved(against: URLReference(base))
        url.userInformation = nil
        url.fragment = nil
        guard let new = try? RequestTarget(url.description), let old = try? RequestTarget(base) else { return nil }
        // An empty location, or one that the transport would reject as a URL.
        guard url.description != base, url.authority?.utf8.contains(UInt8(ascii: "%")) == false else { return nil }
        return new.isSecure || !old.isSecure ? url.description : nil
    }

    private func isAtTarget(_ url: String?) -> Bool {
        url.flatMap { try? RequestTarget($0) } == (try? RequestTarget(target))
    }

    /// The server reports that the upload is complete, which is a success only if all of it was sent (`isWhole`).
    mutating func finishCompleted(isWhole: Bool, isSuccess: Bool) -> [Action] {
        guard !isWhole else { return finishWithResponse(isStored: isSuccess) }
        return finish(
            .failed(.bodyNotTaken, "The server reported a complete upload before it received the whole body.", .unknown)
        )
    }

    // MARK: - Options

    private mutating func offered(_ reply: ResumeReply) -> [Action] {
        if dialect == .draft8 {
            support.tusVersions = reply.tusVersions
            support.tusExtensions = reply.tusExtensions
            support.tusChecksums = reply.tusChecksums
        }
        support.offersDraft = reply.isSuccess && reply.offersDraft
        if reply.isSuccess { support.limits = reply.limits }
        // A server of version 6 only does not recognize a request of version 8.
        if dialect == .draft8, !support.offersDraft, !support.tusVersions.contains(ResumeDialect.tusVersion) || isForm {
            dialect = .draft6
            return send(.options)
        }
        support.isKnown = true
        support.usesDraft6 = dialect == .draft6 && support.offersDraft
        return choose()
    }

    // MARK: - Creation

    private mutating func created(
        _ reply: ResumeReply, _ range: Range<Int64>, isLast: Bool, _ transmission: Transmission
    ) -> [Action] {
        if dialect != .tus, reply.isComplete == true || isLast && reply.isSuccess && transmission.isComplete {
            return finishCompleted(
                isWhole: isLast && transmission.isComplete || !reply.isSuccess, isSuccess: reply.isSuccess)
        }
        if reply.status == 413, !range.isEmpty, record.url == nil {
            loseCreation(range, isLimit: true)
            return create()
        }
        if reply.mayHaveLostContent, !range.isEmpty, record.url == nil { loseCreation(range, isLimit: false) }
        guard reply.isSuccess else { return creationFailed(reply, isLast: isLast, transmission) }
        guard dialect != .tus || reply.isOfProtocol else {
            return finish(
                .failed(
                    .resumptionUnsupported,
                    "The server's response does not have the field Tus-Resumable: \(ResumeDialect.tusVersion). "
                        + "The URL does not belong to a tus server.", range.isEmpty ? .rejected : .unknown))
        }
        guard let location = reply.location, let url = resolved(location, against: target) else {
            return finish(
                .failed(
                    .resumptionUnsupported,
                    "The server responded with \(reply.status) to the creation of an upload, but not with the URL of "
                        + "the upload.", range.isEmpty ? .rejected : .unknown))
        }
        if let announcedURL, announcedURL != url {
            record.url = announcedURL
            return [.abandon(url: url)]
                + abandonAndFail(.resumptionFailed, "The server reported two different URLs for one upload.")
        }
        record.url = url
        if let limits = reply.limits { record.limits = limits }
        if let failure = failIfTooLong() { return failure }
        if dialect == .tus, length == 0 { return finishWithResponse() }
        guard let offset = reply.offset ?? (range.isEmpty ? 0 : nil), offset <= sentEnd else {
            return ask()
        }
        if dialect == .tus, offset == length { return confirm(offset) + finishWithResponse() }
        return confirm(offset) + save()
    }

    /// The content of a creation was lost or rejected.
    private mutating func loseCreation(_ range: Range<Int64>, isLimit: Bool) {
        createsWithoutContent = true
        _ = appendSize.reduce(below: range.upperBound, limits: record.limits, isLimit: isLimit)
    }

    /// Tries another version or an ordinary request, but only if the server has not acted.
    private mutating func creationFailed(
        _ reply: ResumeReply, isLast: Bool, _ transmission: Transmission
    ) -> [Action] {
        if reply.status == 408 || reply.status >= 500 && reply.status != 501, isLast, transmission.isComplete {
            mayBeProcessed = true
            return record.url == nil ? finish(.last(isFinal: false)) : holdAndAsk()
        }
        // A server of tus that rejects this upload, for example its metadata.
        let isRejection = dialect == .tus && reply.isOfProtocol && reply.status != 412
        guard record.url == nil, !isRejection, Self.unsupportedStatuses.contains(reply.status) else {
            return finish(.last(isFinal: false))
        }
        switch dialect {
        case .draft8 where !support.offersDraft:
            dialect = .draft6
            support.usesDraft6 = true
            return create()
        case _ where options.protocol == .automatic:
            support.isOrdinary = true
            return send(.ordinary)
        case .tus where reply.status == 412: return failTusVersion(reply.tusVersions)
        case .draft8, .draft6, .tus:
            support.usesDraft6 = false
            let tried = dialect == .draft6 ? "interop versions 8 and 6 of the IETF draft" : dialect.name
            return finish(
                .failed(
                    .resumptionUnsupported,
                    "The server does not support resumable uploads by \(tried); it responded with \(reply.status).",
                    .rejected))
        }
    }

    /// The responses of servers that don't know the protocol, or not this version of it.
    private static let unsupportedStatuses: Set<Int> = [400, 404, 405, 411, 412, 415, 422, 426, 501]

    // MARK: - Offset

    private mutating func answered(_ reply: ResumeReply) -> [Action] {
        unansweredQuestions = 0
        if reply.isSuccess { return answeredOffset(reply) }
        if reply.isGone { return gone() }
        if reply.status == 423 { return waitForLock() }
        if reply.rejectsMethod, !avoidsMethods {
            avoidsMethods = true
            return ask()
        }
        if reply.isRedirect { return redirected(reply) }
        // The URL is not that of an upload.
        if reply.status == 400, isLoaded, !mayBeProcessed { return forget() + finish(.last(isFinal: false)) }
        return finish(heldEnd == .failure ? .held : .last(isFinal: false))
    }

    private mutating func answeredOffset(_ reply: ResumeReply) -> [Action] {
        if let length = reply.length, let knownLength, length != knownLength {
            return abandonAndFail(
                .resumptionFailed,
                "The server has an upload of \(length) bytes, and the body has \(knownLength) bytes.")
        }
        if dialect != .tus, reply.isComplete == true {
            return mayBeProcessed || sentEnd == length
                ? processed() : finishCompleted(isWhole: false, isSuccess: true)
        }
        guard let offset = reply.offset else {
            return failContradicted("The server's response does not have a valid field Upload-Offset.")
        }
        guard offset <= sentEnd else {
            return abandonAndFail(
                .resumptionFailed,
                "The server reported \(offset) stored bytes, and only \(sentEnd) bytes were sent. Its file is damaged.")
        }
        guard offset >= record.offset else {
            let confirmed = record.offset
            return abandonAndFail(
                .resumptionFailed,
                "The server lost data: it had confirmed \(confirmed) bytes, and reported \(offset) later.")
        }
        if let limits = reply.limits { record.limits = limits }
        if let interrupted, offset <= interrupted.lowerBound {
            _ = appendSize.reduce(below: interrupted.upperBound - interrupted.lowerBound, limits: record.limits)
        }
        interrupted = nil
        let actions = confirm(offset)
        let isComplete = dialect == .tus && offset == length
        if isComplete, reply.length != nil || !isLengthDeferred { return actions + finishWithResponse() }
        mayBeProcessed = false
        if heldEnd == .failure { return actions + finish(.held) }
        heldEnd = .none
        return actions + continueUpload()
    }

    /// The server has acted on the upload. It may send its response again.
    private mutating func processed() -> [Action] {
        isProcessed = true
        record.offset = length
        guard dialect == .draft8 else { return failProcessed() }
        return send(.append(length..<length, isLast: true))
    }

    mutating func failProcessed() -> [Action] {
        record = ResumeRecord(length: length)
        return [.forget(isStored: false)]
            + fail(
                .responseLost,
                "The server has processed the upload, but its response was lost. Look up the result at the server, and do "
                    + "not send the upload again.")
    }

    /// The upload does not exist at the server.
    mutating func gone() -> [Action] {
        if mayBeProcessed {
            return forget()
                + fail(
                    .resumptionFailed,
                    "The server no longer has the upload, whose last bytes were sent: it may have processed it. Check "
                        + "the server before you send it again.")
        }
        let actions = forget()
        return actions + (heldEnd == .none ? create() : finish(.held))
    }

    mutating func redirected(_ reply: ResumeReply) -> [Action] {
        counts.redirects += 1
        guard followsRedirects, counts.redirects <= 5, let location = reply.location,
            let old = redirectedURL ?? record.url, let url = resolved(location, against: old)
        else { return failContradicted("The server redirected the URL of the upload, which is not followed.") }
        // For this attempt only: the record keeps the URL that the server gave the upload.
        redirectedURL = url
        return ask()
    }
}
