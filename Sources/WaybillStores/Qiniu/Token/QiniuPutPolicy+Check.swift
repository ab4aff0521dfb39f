import FoundationEssentials

extension QiniuPutPolicy {
    /// Checks for contradictory members before anything is sent; the store would reject them with 400 after the upload.
    ///
    /// - Throws: ``StoreError`` with ``StoreError/Code/invalidPutPolicy``.
    func check(at now: Date) throws(StoreError) {
        for problem in [scopeProblem, deadlineProblem(at: now), answerProblem, workProblem, objectProblem] {
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
                return "insertOnly contradicts a scope that may overwrite its key: use the scope of a new key"
            }
            return QiniuName.problem(ofKey: key)
        case .newKey(let key, _): return QiniuName.problem(ofKey: key)
        case .prefix(let prefix, _):
            return prefix.isEmpty
                ? "isPrefixalScope needs the beginning of a key: use the scope of the bucket for all keys"
                : QiniuName.problem(ofKey: prefix)
        }
    }

    private func deadlineProblem(at now: Date) -> String? {
        let seconds = deadline.timeIntervalSince1970
        guard seconds.isFinite, seconds < 4_294_967_296 else {
            return "the deadline is not a number of seconds that the store can read (32 bits)"
        }
        guard deadline > now else { return "the deadline has passed: nothing could be uploaded with this token" }
        return nil
    }

    private var answerProblem: String? {
        if !callbackURLs.isEmpty {
            if returnURL != nil { return "callbackUrl and returnUrl: the store can do one of them" }
            if returnBody != nil { return "callbackUrl and returnBody: what the callback answers is returned" }
            if callbackBody?.isEmpty ?? true { return "callbackUrl needs a callbackBody" }
            if callbackURLs.contains(where: { !Self.isURL($0) || $0.contains(";") }) {
                return "each callbackUrl has to begin with http:// or https://, without a semicolon"
            }
        } else if callbackHost != nil || callbackBody != nil || callbackBodyType != nil || callbackFetchesKey {
            return "callbackHost, callbackBody, callbackBodyType and callbackFetchKey need a callbackUrl"
        }
        if callbackFetchesKey, saveKey != nil { return "callbackFetchKey and saveKey: only one can give the key" }
        if let returnURL, !Self.isURL(returnURL) { return "returnUrl has to begin with http:// or https://." }
        return nil
    }

    private var workProblem: String? {
        if persistentOps != nil, persistentWorkflowTemplateID != nil {
            return "persistentOps and persistentWorkflowTemplateID: the store takes one of them"
        }
        let hasWork = persistentOps != nil || persistentWorkflowTemplateID != nil
        if !hasWork, persistentNotifyURL != nil || persistentPipeline != nil || persistentType != nil {
            return "persistentNotifyUrl, persistentPipeline and persistentType need persistentOps"
        }
        if let persistentType, !(0...1).contains(persistentType) { return "persistentType is 0 or 1" }
        if persistentType == 1, persistentPipeline != nil { return "an idle task (persistentType 1) has no pipeline" }
        return nil
    }

    private var objectProblem: String? {
        if forcesSaveKey, saveKey?.isEmpty ?? true { return "forceSaveKey needs a saveKey" }
        if let least = fileSizeMinimum, least < 0 { return "fsizeMin is negative" }
        if let most = fileSizeLimit, most < 0 { return "fsizeLimit is negative" }
        if let least = fileSizeMinimum, let most = fileSizeLimit, least > most {
            return "fsizeMin is more than fsizeLimit: no file would fit"
        }
        if let days = deleteAfterDays, days < 1 { return "deleteAfterDays is 1 or more" }
        if let rate = trafficLimit, !(819_200...838_860_800).contains(rate) {
            return "trafficLimit is 819200 to 838860800 bits per second"
        }
        if let types = allowedTypes?.types, types.isEmpty || types.contains(where: { !Self.isType($0) }) {
            return "mimeLimit is a list of types such as image/jpeg or image/*, without ! and ;."
        }
        return nil
    }

    private static func isURL(_ text: String) -> Bool { text.hasPrefix("http://") || text.hasPrefix("https://") }

    private static func isType(_ text: String) -> Bool {
        let halves = text.split(separator: "/", omittingEmptySubsequences: false)
        return halves.count == 2 && halves.allSatisfy { !$0.isEmpty } && !text.contains { "!; ".contains($0) }
    }
}
