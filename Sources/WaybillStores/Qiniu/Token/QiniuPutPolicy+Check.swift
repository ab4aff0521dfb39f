import FoundationEssentials

extension QiniuPutPolicy {
    /// Checks for contradictory members before anything is sent; the store would reject them with 400 after the upload.
    ///
    /// - Throws: ``StoreError`` with ``StoreError/Code/invalidPutPolicy``.
    func check(at now: Date) throws(StoreError) {
        for problem in [scopeProblem, deadlineProblem(at: now), callbackProblem, processingProblem, objectProblem] {
            guard let problem else { continue }
            throw StoreError(.invalidPutPolicy, problem)
        }
    }

    private var scopeProblem: String? {
        if let problem = QiniuName.problem(ofBucket: scope.bucket) { return problem }
        switch scope {
        case .bucket: return nil
        case .key(let key, _):
            if insertOnly {
                return "insertOnly contradicts a scope that can overwrite its key. Use a scope for a new key."
            }
            return QiniuName.problem(ofKey: key)
        case .newKey(let key, _): return QiniuName.problem(ofKey: key)
        case .prefix(let prefix, _):
            return prefix.isEmpty
                ? "isPrefixalScope requires a prefix. Use a scope for the bucket to allow all keys."
                : QiniuName.problem(ofKey: prefix)
        }
    }

    private func deadlineProblem(at now: Date) -> String? {
        let seconds = deadline.timeIntervalSince1970
        guard seconds.isFinite, seconds < 4_294_967_296 else {
            return "The deadline is not a valid time (32 bits of seconds since 1970)."
        }
        guard deadline > now else { return "The deadline has passed. Use a later one." }
        return nil
    }

    private var callbackProblem: String? {
        if !callbackURLs.isEmpty {
            if returnURL != nil { return "callbackUrl and returnUrl are mutually exclusive." }
            if returnBody != nil {
                return "callbackUrl and returnBody are mutually exclusive: the response of the callback is returned."
            }
            if callbackBody?.isEmpty ?? true { return "callbackUrl requires callbackBody." }
            if callbackURLs.contains(where: { !Self.isURL($0) || $0.contains(";") }) {
                return "Each callbackUrl must begin with http:// or https:// and contain no semicolon."
            }
        } else if callbackHost != nil || callbackBody != nil || callbackBodyType != nil || callbackFetchesKey {
            return "callbackHost, callbackBody, callbackBodyType and callbackFetchKey require callbackUrl."
        }
        if callbackFetchesKey, saveKey != nil { return "callbackFetchKey and saveKey are mutually exclusive." }
        if let returnURL, !Self.isURL(returnURL) { return "returnUrl must begin with http:// or https://." }
        return nil
    }

    private var processingProblem: String? {
        if persistentOps != nil, persistentWorkflowTemplateID != nil {
            return "persistentOps and persistentWorkflowTemplateID are mutually exclusive."
        }
        let hasWork = persistentOps != nil || persistentWorkflowTemplateID != nil
        if !hasWork, persistentNotifyURL != nil || persistentPipeline != nil || persistentType != nil {
            return
                "persistentNotifyUrl, persistentPipeline and persistentType require persistentOps or "
                + "persistentWorkflowTemplateID."
        }
        if let persistentType, !(0...1).contains(persistentType) { return "persistentType must be 0 or 1." }
        if persistentType == 1, persistentPipeline != nil {
            return "persistentPipeline is not supported for idle tasks (persistentType 1)."
        }
        return nil
    }

    private var objectProblem: String? {
        if forcesSaveKey, saveKey?.isEmpty ?? true { return "forceSaveKey requires saveKey." }
        if let least = fileSizeMinimum, least < 0 { return "fsizeMin must not be negative." }
        if let most = fileSizeLimit, most < 0 { return "fsizeLimit must not be negative." }
        if let least = fileSizeMinimum, let most = fileSizeLimit, least > most {
            return "fsizeMin exceeds fsizeLimit."
        }
        if let days = deleteAfterDays, days < 1 { return "deleteAfterDays must be at least 1." }
        if let rate = trafficLimit, !(819_200...838_860_800).contains(rate) {
            return "trafficLimit must be between 819200 and 838860800 bits per second."
        }
        if let types = allowedTypes?.types, types.isEmpty || types.contains(where: { !Self.isType($0) }) {
            return "mimeLimit must be a list of types such as image/jpeg or image/*, without ! and ;."
        }
        return nil
    }

    private static func isURL(_ text: String) -> Bool { text.hasPrefix("http://") || text.hasPrefix("https://") }

    private static func isType(_ text: String) -> Bool {
        let halves = text.split(separator: "/", omittingEmptySubsequences: false)
        return halves.count == 2 && halves.allSatisfy { !$0.isEmpty } && !text.contains { "!; ".contains($0) }
    }
}
