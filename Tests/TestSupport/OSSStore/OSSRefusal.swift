internal import FoundationEssentials

/// An error response of OSS.
struct OSSRefusal: Error, Sendable {
    var status: Int
    var code: String
    var message: String
    var ec: String
    /// The elements that follow the common ones, in order.
    var details: [(String, String)] = []
    /// Further header fields of the response.
    var fields: [(String, String)] = []

    init(_ status: Int, _ code: String, _ message: String, ec: String, details: [(String, String)] = []) {
        self.status = status
        self.code = code
        self.message = message
        self.ec = ec
        self.details = details
    }

    static func badRequest(_ message: String) -> OSSRefusal {
        OSSRefusal(400, "InvalidArgument", message, ec: "0017-00000101")
    }

    static func denied(_ message: String) -> OSSRefusal {
        OSSRefusal(403, "AccessDenied", message, ec: "0003-00000001")
    }

    static func noSuchUpload(_ id: String) -> OSSRefusal {
        OSSRefusal(
            404, "NoSuchUpload",
            "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.",
            ec: "0042-00000203", details: [("UploadId", id)])
    }

    static func malformedXML(_ message: String) -> OSSRefusal {
        OSSRefusal(400, "MalformedXML", message, ec: "0016-00000501")
    }

    func xml(requestID: String, host: String) -> String {
        let explained =
            ec.isEmpty ? [] : [("EC", ec), ("RecommendDoc", "https://api.aliyun.com/troubleshoot?q=\(ec)")]
        let elements =
            [("Code", code), ("Message", message), ("RequestId", requestID), ("HostId", host)] + details + explained
        let lines = elements.map { "  <\($0.0)>\(StoreText.xml($0.1))</\($0.0)>\n" }.joined()
        return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>\n\(lines)</Error>\n"
    }

    /// Returns the response to a request. There is no body for `HEAD`: OSS puts the error into a field.
    func answer(
        requestID: String, host: String, isHead: Bool, fields: [(String, String)], _ dialect: StoreDialect
    ) -> ScriptedResponse {
        guard dialect == .oss else {
            var plain = self
            plain.ec = ""
            let body = isHead ? "" : plain.xml(requestID: requestID, host: "opaque+/=")
            return ScriptedResponse(
                status, headers: fields + self.fields + [("Content-Type", "application/xml")], text: body)
        }
        let xml = xml(requestID: requestID, host: host)
        let named = fields + [("x-oss-ec", ec)]
        guard isHead else {
            return ScriptedResponse(status, headers: named + [("Content-Type", "application/xml")], text: xml)
        }
        let encoded = Data(xml.utf8).base64EncodedString()
        return ScriptedResponse(status, headers: named + [("x-oss-err", encoded), ("Content-Length", "0")])
    }
}
