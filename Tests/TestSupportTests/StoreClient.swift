import Glibc

@testable import TestSupport

/// A client of the store that sends arbitrary requests, signed with the store's own computation.
struct StoreClient {
    struct Response {
        let status: Int
        let head: String
        let body: String

        func value(_ name: String) -> String? {
            let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("\(name.lowercased()): ") }
            return line.map { String($0.dropFirst(name.utf8.count + 2)) }
        }

        var code: String? { StoreText.elements("Code", in: body).first }
    }

    enum Version {
        case v1, v4, v1URL, v4URL, none
    }

    let store: OSSStore
    var version = Version.v4
    var account = OSSAccount("ak", "sk")
    /// The offset from the true time in seconds.
    var skew = 0
    var expires = 600
    var bucket = "examplebucket"
    var additional: [String] = []

    /// Sends a request and reads the response.
    func send(
        _ method: String, _ target: String, _ fields: [String] = [], body: [UInt8] = []
    ) throws -> Response {
        let client = try RawClient(port: store.port)
        try client.send(try request(method, target, fields, length: body.count))
        try client.send(body)
        return Self.read(try client.receive())
    }

    /// Returns the head of a request.
    func request(_ method: String, _ target: String, _ fields: [String] = [], length: Int) throws -> String {
        var (target, fields) = (target, ["Host: \(bucket).oss.test"] + fields)
        let now = time(nil) + skew
        func call() throws -> OSSCall {
            try OSSCall(
                RecordedRequest(connection: 0, numberOnConnection: 0, lines: ["\(method) \(target) HTTP/1.1"] + fields),
                store.settings)
        }
        func add(_ items: String) { target += (target.contains("?") ? "&" : "?") + items }
        let date = StoreDate.compact(now)
        let scope = OSSSignatures.Scope("\(date.prefix(8))/\(store.settings.region)/oss/aliyun_v4_request")!
        let names = additional.joined(separator: ";")
        switch version {
        case .none: break
        case .v1:
            fields.append("Date: \(StoreDate.http(now))")
            if let token = account.token { fields.append("x-oss-security-token: \(token)") }
            let signed = try call()
            let text = OSSSignatures.stringToSignV1(signed, fields: signed.request.fields, date: StoreDate.http(now))
            fields.append("Authorization: OSS \(account.id):\(OSSSignatures.signatureV1(text, secret: account.secret))")
        case .v4:
            fields += ["x-oss-date: \(date)", "x-oss-content-sha256: UNSIGNED-PAYLOAD"]
            if let token = account.token { fields.append("x-oss-security-token: \(token)") }
            let signature = try signV4(call(), date, scope)
            // Another order than that of Waybill, and spaces, as in one of the vendor's clients.
            fields.append(
                "Authorization: OSS4-HMAC-SHA256 Signature=\(signature), Credential=\(account.id)/\(scope.text)"
                    + (names.isEmpty ? "" : ", AdditionalHeaders=\(names)"))
        case .v1URL:
            if let token = account.token { add("security-token=\(StoreText.encoded(token.utf8))") }
            let signed = try call()
            let text = OSSSignatures.stringToSignV1(signed, fields: signed.request.fields, date: "\(now + expires)")
            let signature = OSSSignatures.signatureV1(text, secret: account.secret)
            add("OSSAccessKeyId=\(account.id)&Expires=\(now + expires)&Signature=\(StoreText.encoded(signature.utf8))")
        case .v4URL:
            add("x-oss-signature-version=OSS4-HMAC-SHA256&x-oss-date=\(date)&x-oss-expires=\(expires)")
            add("x-oss-credential=\(StoreText.encoded("\(account.id)/\(scope.text)".utf8))")
            if let token = account.token { add("x-oss-security-token=\(StoreText.encoded(token.utf8))") }
            if !names.isEmpty { add("x-oss-additional-headers=\(StoreText.encoded(names.utf8))") }
            add("x-oss-signature=\(try signV4(call(), date, scope))")
        }
        fields += ["Content-Length: \(length)", "Connection: close"]
        return "\(method) \(target) HTTP/1.1\r\n\(fields.joined(separator: "\r\n"))\r\n\r\n"
    }

    static func read(_ text: String) -> Response {
        let halves = text.pieces(separatedBy: "\r\n\r\n")
        let status = Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0
        return Response(status: status, head: halves[0], body: halves.dropFirst().joined(separator: "\r\n\r\n"))
    }

    private func signV4(_ call: OSSCall, _ date: String, _ scope: OSSSignatures.Scope) throws -> String {
        let canonical = OSSSignatures.canonicalRequest(
            call, fields: call.request.fields, additional: additional, without: [], payload: "UNSIGNED-PAYLOAD")
        let text = OSSSignatures.stringToSignV4(canonical, date: date, scope: scope)
        return OSSSignatures.signatureV4(text, secret: account.secret, scope: scope)
    }

    // MARK: Multipart

    /// Starts an upload and returns its ID.
    func initiate(_ key: String) throws -> String {
        let body = try send("POST", "/\(key)?uploads").body
        return StoreText.elements("UploadId", in: body).first ?? "?"
    }

    /// Sends a part and returns its ETag.
    func part(_ number: Int, of key: String, _ upload: String, _ bytes: [UInt8]) throws -> String {
        let response = try send("PUT", "/\(key)?partNumber=\(number)&uploadId=\(upload)", body: bytes)
        return response.value("ETag") ?? "?"
    }

    func complete(_ key: String, _ upload: String, _ parts: [(Int, String)]) throws -> Response {
        let list = parts.map { "<Part><PartNumber>\($0.0)</PartNumber><ETag>\(StoreText.xml($0.1))</ETag></Part>" }
        let body = "<CompleteMultipartUpload>\(list.joined())</CompleteMultipartUpload>"
        return try send("POST", "/\(key)?uploadId=\(upload)", body: Array(body.utf8))
    }

    // MARK: Forms

    /// Sends a form. `file` is last.
    func post(_ fields: [(String, String)], file: [UInt8], filename: String = "a.jpg") throws -> Response {
        var text = fields.map { "--b\r\nContent-Disposition: form-data; name=\"\($0.0)\"\r\n\r\n\($0.1)\r\n" }.joined()
        text += "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\(filename)\"\r\n"
        text += "Content-Type: image/jpeg\r\n\r\n"
        let body = Array(text.utf8) + file + Array("\r\n--b--\r\n".utf8)
        var unsigned = self
        unsigned.version = .none
        return try unsigned.send("POST", "/", ["Content-Type: multipart/form-data; boundary=b"], body: body)
    }
}

extension String {
    func pieces(separatedBy separator: String) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}
