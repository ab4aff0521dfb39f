import FoundationEssentials
import WaybillCore

extension QiniuPutPolicy {
    /// Returns the JSON that is signed: the members that are set, in the order of Qiniu's documentation.
    ///
    /// - Throws: ``StoreError`` with ``StoreError/Code/invalidPutPolicy`` if members contradict each other.
    func json(at now: Date) throws(StoreError) -> String {
        try check(at: now)
        var object = JSONObject()
        object.add("scope", scope.text)
        if case .prefix = scope { object.add("isPrefixalScope", 1) }
        object.add("deadline", Int64(deadline.timeIntervalSince1970.rounded(.down)))
        if isInsertOnly { object.add("insertOnly", 1) }
        object.add("endUser", endUser)
        object.add("returnUrl", returnURL)
        object.add("returnBody", returnBody)
        if !callbackURLs.isEmpty { object.add("callbackUrl", callbackURLs.joined(separator: ";")) }
        object.add("callbackHost", callbackHost)
        object.add("callbackBody", callbackBody)
        object.add("callbackBodyType", callbackBodyType?.rawValue)
        if callbackFetchesKey { object.add("callbackFetchKey", 1) }
        object.add("persistentOps", persistentOps)
        object.add("persistentNotifyUrl", persistentNotifyURL)
        object.add("persistentPipeline", persistentPipeline)
        object.add("persistentType", persistentType.map(Int64.init))
        object.add("persistentWorkflowTemplateID", persistentWorkflowTemplateID)
        if forcesSaveKey { object.add("forceSaveKey", true) }
        object.add("saveKey", saveKey)
        object.add("fsizeMin", fileSizeMinimum)
        object.add("fsizeLimit", fileSizeLimit)
        object.add("detectMime", typeDetection.map { Int64($0.rawValue) })
        object.add("mimeLimit", allowedTypes?.text)
        object.add("fileType", storageClass.map { Int64($0.rawValue) })
        object.add("deleteAfterDays", deleteAfterDays.map(Int64.init))
        object.add("trafficLimit", trafficLimit.map(Int64.init))
        return object.text
    }

    private var isInsertOnly: Bool { if case .newKey = scope { true } else { insertOnly } }
}

/// A JSON object that preserves the order of its members.
struct JSONObject {
    private var members: [String] = []

    var text: String { "{\(members.joined(separator: ","))}" }

    mutating func add(_ name: String, _ value: String?) {
        if let value { members.append("\(JSONText.quoted(name)):\(JSONText.quoted(value))") }
    }

    mutating func add(_ name: String, _ value: Int64?) {
        if let value { members.append("\(JSONText.quoted(name)):\(value)") }
    }

    mutating func add(_ name: String, _ value: Bool) { members.append("\(JSONText.quoted(name)):\(value)") }

    /// Adds a member whose value is JSON.
    mutating func add(_ name: String, json: String) { members.append("\(JSONText.quoted(name)):\(json)") }
}
