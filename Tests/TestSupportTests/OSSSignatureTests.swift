import Testing

@testable import TestSupport

/// The signature computation of the store, compared with values published by the vendor.
@Suite struct OSSSignatureTests {
    private static let docs = (id: "44CF9590006BF252F707", secret: "OtxrzxIsfpFjA7SwPzILwy8Bw21TLhquhboDYROV")
    private static let day = "Wed, 28 Dec 2022 10:27:41 GMT"
    private static let html = [
        "Content-MD5: eB5eJF1ptWaXm4bijSPyxw==", "Content-Type: text/html", "x-oss-date: \(day)",
        "x-oss-meta-author: alice", "x-oss-meta-magic: abracadabra",
    ]

    private static func call(_ line: String, _ fields: [String]) throws -> OSSCall {
        let request = RecordedRequest(
            connection: 0, numberOnConnection: 0, lines: ["\(line) HTTP/1.1", "Host: 127.0.0.1"] + fields)
        return try OSSCall(request, OSSStoreSettings())
    }

    struct V1: Sendable {
        let line: String
        var fields: [String] = []
        let date: String
        var secret = "sk"
        let signature: String
    }

    static let v1: [V1] = [
        V1(
            line: "PUT /oss-example/nelson",
            fields: [
                "Content-MD5: ODBGOERFMDMzQTczRUY3NUE3NzA5QzdFNUYzMDQxNEM=", "Content-Type: text/html",
                "x-oss-magic: abracadabra", "x-oss-meta-author: foo@bar.com",
            ], date: "Thu, 17 Nov 2005 18:49:58 GMT", secret: docs.secret, signature: "26NBxoKdsyly4EDv6inkoDft/yA="),
        V1(line: "PUT /examplebucket/nelson", fields: html, date: day, signature: "kSHKmLxlyEAKtZPkJhG9bZb5k7M="),
        V1(
            line: "PUT /examplebucket/nelson?acl&non-resousce=123", fields: html, date: day,
            signature: "/afkugFbmWDQ967j1vr6zygBLQk="),
        V1(
            line: "GET /examplebucket/?acl&resourceGroup&non-resousce=null", fields: ["x-oss-date: \(day)"], date: day,
            signature: "x3E5TgOvl/i7PN618s5mEvpJDYk="),
        V1(
            line: "PUT /examplebucket/nelson", fields: html + ["x-oss-security-token: token"], date: day,
            signature: "H3PAlN3Vucn74tPVEqaQC4AnLwQ="),
        V1(
            line: "GET /oss-example/oss-api.pdf", date: "1141889120", secret: docs.secret,
            signature: "EwaNTn1erJGkimiJ9WmXgwnANLc="),
        V1(
            line: "GET /bucket/key?versionId=versionId", date: "1699807420", signature: "dcLTea+Yh9ApirQ8o8dOPqtvJXQ="),
        V1(
            line: "GET /bucket/key%2B123?versionId=versionId&security-token=token", date: "1699808204",
            signature: "jzKYRrM5y6Br0dRFPaTGOsbrDhY="),
        V1(
            line:
                "GET /bucket/key?response-content-disposition=attachment%3B%20filename%3Dexample.txt&security-token=token"
                + "&versionId=versionId%3Fparam1%3Dvalue1&%2Bparam1=value3",
            fields: ["Content-Type: application/octet-stream", "x-oss-head1: value"], date: "1699808204",
            signature: "3GJoEOv5LX2ASp0HJk/hAk+qLJc="),
    ]

    @Test(arguments: v1) func `version 1 matches the published signatures`(_ row: V1) throws {
        let call = try Self.call(row.line, row.fields)
        let text = OSSSignatures.stringToSignV1(call, fields: call.request.fields, date: row.date)
        #expect(OSSSignatures.signatureV1(text, secret: row.secret) == row.signature, "\(text.text)")
    }

    struct V4: Sendable {
        let date: String
        var region = "cn-hangzhou"
        var token: String?
        var additional: [String] = []
        var expires: Int?
        let signature: String
    }

    static let v4: [V4] = [
        V4(
            date: "20231216T162057Z", signature: "e21d18daa82167720f9b1047ae7e7f1ce7cb77a31e8203a7d5f4624fa0284afe"),
        V4(
            date: "20231217T034736Z", token: "token",
            signature: "b94a3f999cf85bcdc00d332fbd3734ba03e48382c36fa4d5af5df817395bd9ea"),
        V4(
            date: "20231216T172512Z", additional: ["abc", "zabc"],
            signature: "4a4183c187c07c8947db7620deb0a6b38d9fbdd34187b6dbaccb316fa251212f"),
        V4(
            date: "20231217T025437Z", expires: 599,
            signature: "a39966c61718be0d5b14e668088b3fa07601033f6518ac7b523100014269c0fe"),
        V4(
            date: "20231217T035628Z", token: "token", expires: 599,
            signature: "3817ac9d206cd6dfc90f1c09c00be45005602e55898f26f5ddb06d7892e1f8b5"),
        V4(
            date: "20231217T033009Z", additional: ["abc", "zabc"], expires: 599,
            signature: "6bd984bfe531afb6db1f7550983a741b103a8c58e5e14f83ea474c2322dfa2b7"),
    ]

    @Test(arguments: v4) func `version 4 matches the published signatures`(_ row: V4) throws {
        let scope = try #require(OSSSignatures.Scope("\(row.date.prefix(8))/\(row.region)/oss/aliyun_v4_request"))
        var query = "?param1=value1&%2Bparam1=value3&%7Cparam1=value4&%2Bparam2&%7Cparam2&param2"
        var fields = ["abc: value", "ZAbc: value", "XYZ: value", "x-oss-head1: value"]
        if let expires = row.expires {
            fields.append("Content-Type: application/octet-stream")
            query += "&x-oss-signature-version=OSS4-HMAC-SHA256&x-oss-date=\(row.date)&x-oss-expires=\(expires)"
            query += "&x-oss-credential=ak%2F\(scope.text.split(separator: "/").joined(separator: "%2F"))"
            if !row.additional.isEmpty {
                query += "&x-oss-additional-headers=\(row.additional.joined(separator: "%3B"))"
            }
            if let token = row.token { query += "&x-oss-security-token=\(token)" }
        } else {
            fields += ["Content-Type: text/plain", "x-oss-date: \(row.date)", "x-oss-content-sha256: UNSIGNED-PAYLOAD"]
            if let token = row.token { fields.append("x-oss-security-token: \(token)") }
        }
        let call = try Self.call("PUT /bucket/1234%2B-/123/1.txt\(query)", fields)
        let canonical = OSSSignatures.canonicalRequest(
            call, fields: call.request.fields, additional: row.additional, without: [], payload: "UNSIGNED-PAYLOAD")
        let text = OSSSignatures.stringToSignV4(canonical, date: row.date, scope: scope)
        #expect(OSSSignatures.signatureV4(text, secret: "sk", scope: scope) == row.signature, "\(canonical)")
    }

    @Test func `a policy is signed in its encoded form`() throws {
        let policy =
            "eyJleHBpcmF0aW9uIjoiMjAxMy0xMi0wMVQxMjowMDowMFoiLCJjb25kaXRpb25zIjpbWyJjb250ZW50LWxlbmd0aC1yYW5nZSIsMCwxMDQ4NTc2MF0s"
            + "eyJidWNrZXQiOiJhaGFoYSJ9LHsiQSI6ImEifSx7ImtleSI6IkFCQyJ9XX0="
        #expect(
            OSSSignatures.signatureV1(Array(policy.utf8), secret: Self.docs.secret) == "4tWCtD1uLbM6Uxva3tyNxLoUs2k=")
        let read = try OSSPolicy(encoded: policy)
        #expect(read.expiration == 1_385_899_200)
        #expect(read.conditions.count == 4)
    }

    @Test func `keys are decoded from request targets`() throws {
        let hard = "a+b %23?空//../x"
        let encoded = StoreText.encoded(hard.utf8, also: "/")
        for (host, path) in [("127.0.0.1:1", "/pictures/"), ("pictures.oss.localhost:1", "/"), ("cdn.localhost", "/")] {
            let request = RecordedRequest(
                connection: 0, numberOnConnection: 0, lines: ["PUT \(path)\(encoded) HTTP/1.1", "Host: \(host)"])
            let call = try OSSCall(request, OSSStoreSettings())
            #expect(call.key == Array(hard.utf8))
            #expect(call.bucket == (host == "cdn.localhost" ? "examplebucket" : "pictures"))
            #expect(call.operation == .putObject)
        }
    }
}
