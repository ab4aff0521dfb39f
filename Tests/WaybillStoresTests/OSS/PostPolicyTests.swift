import FoundationEssentials
import Testing
import WaybillCore
import WaybillMultipart

@testable import WaybillStores

@Suite struct `OSS form policies` {
    /// All six forms of a condition.
    static let policy: OSSPostPolicy = {
        var policy = OSSPostPolicy(expiration: Date(timeIntervalSince1970: 1_733_230_800))
        policy.conditions = [
            .bucket("examplebucket"), .exactly("x-oss-signature-version", "OSS4-HMAC-SHA256"),
            .exactly("x-oss-credential", "ak/20241203/cn-hangzhou/oss/aliyun_v4_request"),
            .exactly("x-oss-date", "20241203T121212Z"), .contentLength(1...10),
            .equals("success_action_status", "201"), .startsWith("key", "user/eric/"),
            .oneOf("content-type", ["image/jpg", "image/png"]), .noneOf("cache-control", ["no-cache"]),
        ]
        return policy
    }()
    static let credentials = StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk"))
    static let date = Date(timeIntervalSince1970: 1_733_227_932)
    static let place = "https://examplebucket.oss-cn-hangzhou.aliyuncs.com/"

    @Test func `all six forms of conditions are encoded as documented`() throws {
        #expect(
            try Self.policy.json()
                == #"{"expiration":"2024-12-03T13:00:00.000Z","conditions":[{"bucket":"examplebucket"},"#
                + #"{"x-oss-signature-version":"OSS4-HMAC-SHA256"},"#
                + #"{"x-oss-credential":"ak/20241203/cn-hangzhou/oss/aliyun_v4_request"},"#
                + #"{"x-oss-date":"20241203T121212Z"},["content-length-range",1,10],["eq","$success_action_status","201"],"#
                + #"["starts-with","$key","user/eric/"],["in","$content-type",["image/jpg","image/png"]],"#
                + #"["not-in","$cache-control",["no-cache"]]]}"#)
    }

    @Test func `the fields of version 4 have the signature of the test vector`() throws {
        let form = try Self.policy.form(
            at: Self.place, rules: OSSSigningRules(.v4, region: "cn-hangzhou"), credentials: Self.credentials,
            date: Self.date)
        let fields = Dictionary(uniqueKeysWithValues: form.fields.map { ($0.name, $0.value.value) })
        #expect(fields["x-oss-signature"] == "d64b3772f6f7be3abba0d1da19938976f3c233b2886eefd3ba429affa7d76aac")
        #expect(fields["x-oss-credential"] == "ak/20241203/cn-hangzhou/oss/aliyun_v4_request")
        #expect(fields["x-oss-date"] == "20241203T121212Z")
        #expect(fields["policy"] == MessageAuthentication.base64(Array(try Self.policy.json().utf8)))
        #expect(form.keyPrefix == "user/eric/")
    }

    @Test func `the fields of version 1 have the signature of the test vector`() throws {
        let form = try Self.policy.form(
            at: Self.place, rules: OSSSigningRules(.v1), credentials: Self.credentials, date: Self.date)
        let fields = Dictionary(uniqueKeysWithValues: form.fields.map { ($0.name, $0.value.value) })
        #expect(fields["Signature"] == "KtPqszebO9fvQgfcWXcR/T/T/IY=")
        #expect(fields["OSSAccessKeyId"] == "ak")
    }

    @Test func `published policies have the published signatures`() {
        let secret = Secret.secret(`OSS signatures of version 1`.documented.1)
        let compact =
            "eyJleHBpcmF0aW9uIjoiMjAxMy0xMi0wMVQxMjowMDowMFoiLCJjb25kaXRpb25zIjpbWyJjb250ZW50LWxlbmd0aC1yYW5nZSIsMCwxMDQ4"
            + "NTc2MF0seyJidWNrZXQiOiJhaGFoYSJ9LHsiQSI6ImEifSx7ImtleSI6IkFCQyJ9XX0="
        let written =
            #"{"expiration":"2013-12-01T12:00:00Z","conditions":[["content-length-range",0,10485760],"#
            + #"{"bucket":"ahaha"},{"A":"a"},{"key":"ABC"}]}"#
        #expect(MessageAuthentication.base64(Array(written.utf8)) == compact)
        #expect(OSSSignatureV1.signature(compact, secret: secret) == "4tWCtD1uLbM6Uxva3tyNxLoUs2k=")
        let spaced =
            "eyJleHBpcmF0aW9uIjoiMjAxMy0xMi0wMVQxMjowMDowMFoiLCJjb25kaXRpb25zIjpbWyJjb250ZW50LWxlbmd0aC1yYW5nZSIsIDAsIDEw"
            + "NDg1NzYwXSx7ImJ1Y2tldCI6ImFoYWhhIn0sIHsiQSI6ICJhIn0seyJrZXkiOiAiQUJDIn1dfQ=="
        #expect(OSSSignatureV1.signature(spaced, secret: secret) == "BgRcDqgNsBCQtbrBAphnACiP3yw=")
    }

    @Test func `the policy of the test vector is encoded identically, except for the date format`() throws {
        var policy = OSSPostPolicy(expiration: Date(timeIntervalSince1970: 1_385_899_200))
        policy.conditions = [
            .contentLength(0...10_485_760), .bucket("ahaha"), .exactly("A", "a"), .exactly("key", "ABC"),
        ]
        #expect(
            try policy.json().replacing("12:00:00.000Z", with: "12:00:00Z")
                == #"{"expiration":"2013-12-01T12:00:00Z","conditions":[["content-length-range",0,10485760],"#
                + #"{"bucket":"ahaha"},{"A":"a"},{"key":"ABC"}]}"#)
    }

    /// Amazon publishes a policy with its signature: the same steps with other strings in the key.
    @Test func `the steps of version 4 give Amazon's published signature`() {
        let lines = [
            "{ \"expiration\": \"2015-12-30T12:00:00.000Z\",", "  \"conditions\": [",
            "    {\"bucket\": \"sigv4examplebucket\"},", "    [\"starts-with\", \"$key\", \"user/user1/\"],",
            "    {\"acl\": \"public-read\"},",
            "    {\"success_action_redirect\": \"http://sigv4examplebucket.s3.amazonaws.com/successful_upload.html\"},",
            "    [\"starts-with\", \"$Content-Type\", \"image/\"],", "    {\"x-amz-meta-uuid\": \"14365123651274\"},",
            "    {\"x-amz-server-side-encryption\": \"AES256\"},", "    [\"starts-with\", \"$x-amz-meta-tag\", \"\"],",
            "", "    {\"x-amz-credential\": \"AKIAIOSFODNN7EXAMPLE/20151229/us-east-1/s3/aws4_request\"},",
            "    {\"x-amz-algorithm\": \"AWS4-HMAC-SHA256\"},", "    {\"x-amz-date\": \"20151229T000000Z\" }", "  ]",
            "}",
        ]
        let policy = MessageAuthentication.base64(Array(lines.joined(separator: "\r\n").utf8))
        let key = ["20151229", "us-east-1", "s3", "aws4_request"].reduce(
            Array("AWS4wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".utf8)
        ) { MessageAuthentication.sha256(key: $0, $1) }
        #expect(
            MessageAuthentication.hexadecimal(MessageAuthentication.sha256(key: key, policy))
                == "8afdbf4008c03f22c2cd3cdb72e4afbb1f6a588f3255ac628749a66d7f09699e")
    }

    @Test func `temporary credentials and version 4 add the conditions required by OSS`() throws {
        var policy = OSSPostPolicy(expiration: Self.date.addingTimeInterval(600))
        policy.conditions = [.bucket("examplebucket")]
        let temporary = StoreCredentials(
            accessKeyID: "ak", accessKeySecret: .secret("sk"), securityToken: .secret("token"))
        let form = try policy.form(
            at: Self.place, rules: OSSSigningRules(.v4, region: "cn-hangzhou"), credentials: temporary, date: Self.date)
        let text = try decoded(form)
        #expect(
            text.contains(
                #"[{"bucket":"examplebucket"},{"x-oss-signature-version":"OSS4-HMAC-SHA256"},"#
                    + #"{"x-oss-credential":"ak/20241203/cn-hangzhou/oss/aliyun_v4_request"},"#
                    + #"{"x-oss-date":"20241203T121212Z"},{"x-oss-security-token":"token"}]"#))
        #expect(form.fields.contains(OSSPostForm.Field("x-oss-security-token", "token")))
        let first = try policy.form(
            at: Self.place, rules: OSSSigningRules(.v1), credentials: temporary, date: Self.date)
        #expect(try decoded(first).contains(#"[{"bucket":"examplebucket"},{"x-oss-security-token":"token"}]"#))
    }

    @Test(
        arguments: [
            ("a$b", #""a\$b""#), ("${filename}", #""\${filename}""#), ("q\"\\/", #""q\"\\/""#),
            ("\n\r\t\u{8}\u{0}\u{7F}", #""\n\r\t\u0008\u0000\u007f""#), ("空", #""空""#), ("\u{2028}", "\"\u{2028}\""),
            ("\r\n", #""\r\n""#), ("", #""""#),
        ])
    func `values are escaped for JSON and for OSS`(_ value: String, _ written: String) throws {
        var policy = OSSPostPolicy(expiration: Self.date)
        policy.conditions = [.startsWith("key", value), .exactly("k$", value)]
        #expect(try policy.json().contains("[\"starts-with\",\"$key\",\(written)],{\"k\\$\":\(written)}"))
    }

    @Test func `invalid policies are refused`() throws {
        func code(_ conditions: [OSSPostPolicy.Condition]) -> StoreError.Code? {
            let policy = OSSPostPolicy(expiration: Self.date, conditions: conditions)
            do throws(StoreError) { _ = try policy.json() } catch { return error.code }
            return nil
        }
        #expect(code([]) == .invalidPolicy)
        #expect(code([.startsWith("$key", "a")]) == .invalidPolicy)
        #expect(code([.equals("", "a")]) == .invalidPolicy)
        #expect(code([.oneOf("content-type", [])]) == .invalidPolicy)
        #expect(code([.contentLength(-1...5)]) == .invalidPolicy)
        #expect(code([.contentLength(0...Int64.max)]) == nil)
        let rules = OSSSigningRules(.v4, region: "cn-hangzhou")
        for (seconds, version) in [(0.0, rules), (-5, rules), (604_801, rules), (0, OSSSigningRules(.v1))] {
            let policy = OSSPostPolicy(
                expiration: Self.date.addingTimeInterval(seconds), conditions: [.bucket("examplebucket")])
            let error = #expect(throws: StoreError.self) {
                try policy.form(at: Self.place, rules: version, credentials: Self.credentials, date: Self.date)
            }
            #expect(error?.code == .invalidExpiration, "\(seconds)")
        }
    }

    private func decoded(_ form: OSSPostForm) throws -> String {
        let policy = try #require(form.fields.first { $0.name == "policy" })
        return String(decoding: try #require(Data(base64Encoded: policy.value.value)), as: UTF8.self)
    }
}
