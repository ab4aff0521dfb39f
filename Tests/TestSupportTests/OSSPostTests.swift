import TestSupport
import FoundationEssentials
import Glibc
import Testing

@testable import TestSupport

/// Forms (PostObject): their signature, expiration and policy.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct OSSPostTests {
    enum Version: CaseIterable { case v1, v4 }

    struct Post {
        var version = Version.v4
        var account = OSSAccount("ak", "sk")
        var conditions = ""
        var fields: [(String, String)] = []
        var expiration = 600
        var skew = 0
        var key = "cards/${filename}"
        var leavesOut: Set<String> = []

        func send(to store: OSSStore, file: [UInt8] = [1, 2, 3], filename: String = "a.jpg") throws
            -> StoreClient.Response
        {
            let now = time(nil) + skew
            let date = StoreDate.compact(now)
            let credential = "\(account.id)/\(date.prefix(8))/cn-hangzhou/oss/aliyun_v4_request"
            var signing: [(String, String)] =
                version == .v4
                ? [
                    ("x-oss-signature-version", "OSS4-HMAC-SHA256"), ("x-oss-credential", credential),
                    ("x-oss-date", date),
                ] : []
            if let token = account.token { signing.append(("x-oss-security-token", token)) }
            let own = signing.filter { !leavesOut.contains($0.0) }.map { "{\"\($0.0)\":\"\($0.1)\"}" }
            let list = (own + [#"{"bucket":"examplebucket"}"#] + (conditions.isEmpty ? [] : [conditions]))
                .joined(separator: ",")
            let text = "{\"expiration\":\"\(StoreDate.iso(now + expiration))\",\"conditions\":[\(list)]}"
            let policy = Data(text.utf8).base64EncodedString()
            if version == .v4 {
                let scope = OSSSignatures.Scope(credential.dropFirst(account.id.utf8.count + 1))!
                signing.append(
                    ("x-oss-signature", OSSSignatures.signatureV4(policy, secret: account.secret, scope: scope)))
            } else {
                signing.append(("OSSAccessKeyId", account.id))
                signing.append(
                    ("Signature", OSSSignatures.signatureV1(Array(policy.utf8), secret: account.secret)))
            }
            let all = [("key", key), ("policy", policy)] + signing + fields
            return try StoreClient(store: store).post(all, file: file, filename: filename)
        }
    }

    @Test(arguments: Version.allCases) func `a form is accepted with the requested response`(_ version: Version) throws
    {
        let store = try OSSStore()
        var post = Post(version: version)
        #expect(try post.send(to: store).status == 204)
        #expect(store.object("cards/a.jpg")?.content.bytes == [1, 2, 3])
        #expect(store.object("cards/a.jpg")?.fields["content-type"] == "image/jpeg")
        #expect(store.state.log.last?.signature == (version == .v1 ? .v1Form : .v4Form))
        post.fields = [("success_action_status", "201"), ("x-oss-content-type", "image/png"), ("x-oss-meta-a", "b")]
        let made = try post.send(to: store, filename: "a;b \u{7A7A}.jpg")
        #expect(made.status == 201)
        #expect(made.body.contains("<Key>cards/a;b 空.jpg</Key>"))
        #expect(store.object("cards/a;b 空.jpg")?.fields == ["content-type": "image/png", "x-oss-meta-a": "b"])
        post.fields = [("success_action_redirect", "http://h/?x")]
        let sent = try post.send(to: store)
        #expect(sent.status == 303)
        #expect(sent.value("Location")?.hasPrefix("http://h/?x&bucket=examplebucket&key=cards%2Fa.jpg&etag=") == true)
    }

    static let conditions: [(String, [(String, String)], Bool)] = [
        (#"{"x-oss-meta-a":"b"}"#, [("x-oss-meta-a", "b")], true),
        (#"{"x-oss-meta-a":"b"}"#, [("x-oss-meta-a", "c")], false),
        (#"{"x-oss-meta-a":"b"}"#, [], false),
        (#"["eq","$success_action_status","200"]"#, [("success_action_status", "200")], true),
        (#"["eq","$success_action_status","200"]"#, [("success_action_status", "201")], false),
        (#"["starts-with","$key","cards/"]"#, [], true),
        (#"["starts-with","$key","cards/a"]"#, [], false),
        (#"["starts-with","$x-oss-meta-a",""]"#, [("x-oss-meta-a", "")], true),
        (#"["starts-with","$x-oss-meta-a",""]"#, [], false),
        (#"["in","$content-type",["image/jpg","image/png"]]"#, [("Content-Type", "image/png")], true),
        (#"["in","$content-type",["image/jpg","image/png"]]"#, [("Content-Type", "image/gif")], false),
        (#"["not-in","$cache-control",["no-cache"]]"#, [("Cache-Control", "max-age=1")], true),
        (#"["not-in","$cache-control",["no-cache"]]"#, [("Cache-Control", "no-cache")], false),
        (#"["eq","$x-oss-meta-a","\$5"]"#, [("x-oss-meta-a", "$5")], true),
        (#"["content-length-range",1,3]"#, [], true),
        (#"["content-length-range",4,9]"#, [], false),
        (#"["content-length-range",0,2]"#, [], false),
        (#"{"bucket":"other"}"#, [], false),
    ]

    @Test(arguments: Version.allCases, conditions.indices) func `each policy condition is enforced`(
        _ version: Version, _ row: Int
    ) throws {
        let (condition, fields, isMet) = Self.conditions[row]
        let store = try OSSStore()
        let response = try Post(version: version, conditions: condition, fields: fields).send(to: store)
        #expect((response.status / 100 == 2) == isMet, "\(condition) \(fields) \(response.body)")
        if !isMet { #expect(["AccessDenied", "EntityTooSmall", "EntityTooLarge"].contains(response.code)) }
        #expect(store.state.keys().isEmpty == !isMet)
    }

    @Test(arguments: Version.allCases) func `forms with a wrong account or time are rejected`(_ version: Version) throws
    {
        var settings = OSSStoreSettings()
        settings.accounts.append(OSSAccount("sts", "sk", token: "t"))
        let store = try OSSStore(settings)
        func code(_ change: (inout Post) -> Void) throws -> String? {
            var post = Post(version: version)
            change(&post)
            return try post.send(to: store).code
        }
        #expect(try code { $0.account = OSSAccount("ak", "other") } == "SignatureDoesNotMatch")
        #expect(try code { $0.account = OSSAccount("nobody", "sk") } == "InvalidAccessKeyId")
        #expect(try code { $0.expiration = -1 } == "AccessDenied")
        #expect(try code { $0.conditions = "17" } == "InvalidPolicyDocument")
        #expect(try code { $0.conditions = #"["like","$key","a"]"# } == "InvalidPolicyDocument")
        #expect(try code { $0.key = "" } == "InvalidObjectName")
        #expect(try code { $0.account = OSSAccount("sts", "sk") } == "InvalidAccessKeyId")
        #expect(try code { $0.account = OSSAccount("sts", "sk", token: "t") } == nil)
        if version == .v4 {
            #expect(
                try code {
                    $0.skew = -605_000; $0.expiration = 700_000
                } == "AccessDenied")
            #expect(try code { $0.skew = 1_000 } == "AccessDenied")
            #expect(try code { $0.leavesOut = ["x-oss-date"] } == "InvalidPolicyDocument")
        }
    }

    @Test func `fields after the file are ignored`() throws {
        let store = try OSSStore()
        let client = StoreClient(store: store, version: .none)
        let body = """
            --b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n\
            --b\r\nContent-Disposition: form-data; name="key"\r\n\r\nk\r\n--b--\r\n
            """
        let response = try client.send(
            "POST", "/", ["Content-Type: multipart/form-data; boundary=b"], body: Array(body.utf8))
        #expect(response.code == "AccessDenied")
        let broken = try client.send(
            "POST", "/", ["Content-Type: multipart/form-data; boundary=b"], body: Array("--b\r\nno end".utf8))
        #expect(broken.code == "MalformedPOSTRequest")
        #expect(store.state.keys() == [])
    }
}
