import FoundationEssentials
import HTTPTypes
import Testing
import Waybill
import WaybillCore
import WaybillMultipart

@testable import WaybillStores

/// Uploads that a server signs for a client without a secret.
@Suite struct `Uploads signed by a server` {
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)

    @Test(
        arguments: [
            (
                #"{"accessid":"ak","host":"http://b.oss-cn-hangzhou.aliyuncs.com","policy":"cA==","signature":"c2ln","#
                    + #""expire":1700000600,"callback":"Y2I=","dir":"user-7/"}"#,
                "http://b.oss-cn-hangzhou.aliyuncs.com", ["OSSAccessKeyId", "Signature", "policy", "callback"]
            ),
            (
                #"{"host":"//b.example.com","dir":"user-7/","policy":"cA==","x_oss_signature_version":"OSS4-HMAC-SHA256","#
                    + #""x_oss_credential":"c","x_oss_date":"20231114T221320Z","signature":"ab","security_token":"t","#
                    + #""expire":"1700000600"}"#,
                "https://b.example.com",
                [
                    "x-oss-signature-version", "x-oss-credential", "x-oss-date", "x-oss-signature", "policy",
                    "x-oss-security-token",
                ]
            ),
            (
                #"{"url":"https://b.example.com/","fields":{"x-oss-signature":"ab","policy":"cA==","Other":5},"#
                    + #""keyPrefix":"user-7/","expiration":"2023-11-14T22:23:20Z"}"#,
                "https://b.example.com/", ["Other", "policy", "x-oss-signature"]
            ),
        ])
    func `a signed form is parsed in each JSON shape`(_ json: String, _ url: String, _ names: [String]) throws {
        let form = try OSSPostForm(json: json.utf8)
        #expect(form.url == url)
        #expect(form.fields.map(\.name) == names)
        #expect(form.keyPrefix == "user-7/")
        #expect(form.expiration == Date(timeIntervalSince1970: 1_700_000_600))
    }

    @Test(
        arguments: [
            "", "[]", "<html>", "{}", #"{"host":"https://b"}"#, #"{"host":"https://b","policy":"p"}"#,
            #"{"host":"https://b","signature":"p"}"#,
            #"{"host":"https://b","policy":"p","signature":"s","expire":"soon"}"#,
        ])
    func `an invalid signed form is refused`(_ json: String) throws {
        let error = #expect(throws: StoreError.self) { try OSSPostForm(json: json.utf8) }
        #expect(error?.code == .presignedMalformed)
    }

    @Test func `a form has its key first and its file last`() throws {
        let ticket = try OSSPostForm(
            url: "https://b.example.com/",
            fields: [.init("key", "other"), .init("policy", "p"), .init("Signature", "s")],
            expiration: Self.now.addingTimeInterval(1), keyPrefix: "cards/")
        let form = try ticket.form(
            key: "cards/7.jpg", file: .data("picture", [1, 2, 3], contentType: "image/jpeg"),
            additional: [.init("success_action_status", "200")], at: Self.now)
        #expect(form.parts.map(\.name) == ["key", "policy", "Signature", "success_action_status", "file"])
        #expect(form.parts.last?.fileName == "7.jpg")
        #expect(form.order == .filesLast)
    }

    @Test func `a form refuses other keys, and all keys after it expires`() throws {
        let ticket = try OSSPostForm(
            url: "https://b.example.com/", fields: [.init("policy", "p"), .init("Signature", "s")],
            expiration: Self.now, keyPrefix: "cards/")
        let late = #expect(throws: StoreError.self) {
            try ticket.form(key: "cards/7.jpg", file: .data("f", []), at: Self.now)
        }
        #expect(late?.code == .presignedExpired)
        for key in ["scans/7.jpg", "", "/cards/7.jpg"] {
            let error = #expect(throws: StoreError.self) {
                try ticket.form(key: key, file: .data("f", []), at: Self.now.addingTimeInterval(-1))
            }
            #expect(error?.code == .invalidKey, "\(key)")
        }
    }

    @Test(
        arguments: [
            ("https://b/k?Expires=1700000600&OSSAccessKeyId=a&Signature=s", 1_700_000_600.0),
            ("https://b/k?x-oss-date=20231114T221320Z&x-oss-expires=600&x-oss-signature=s", 1_700_000_600),
            ("https://b/k?X-Amz-Date=20231114T221320Z&X-Amz-Expires=600#f", 1_700_000_600),
            ("https://b/k?Expires=soon", nil), ("https://b/k", nil), ("https://b/k?Expires=99999999999999999999", nil),
            ("https://b/k?x-oss-date=20231114T221320Z&x-oss-expires=9999999999", nil),
        ] as [(String, Double?)])
    func `a presigned URL has its expiration`(_ url: String, _ seconds: Double?) throws {
        #expect(try OSSPresignedUpload(url).expiration?.timeIntervalSince1970 == seconds)
    }

    @Test func `an expired presigned URL is refused`() throws {
        let ticket = try OSSPresignedUpload("https://b/k?Expires=1700000000&Signature=s")
        let error = #expect(throws: StoreError.self) { try ticket.request(.empty, at: Self.now) }
        #expect(error?.code == .presignedExpired)
        let request = try ticket.request(.empty, at: Self.now.addingTimeInterval(-1))
        #expect(request.method == .put)
        #expect(request.url == ticket.url.value)
    }

    @Test(arguments: ["", "oss://b/k", "ftp://b/k?a", " https://b/k?a", "https://b/k?a\nb", "b/k?Signature=s"])
    func `an invalid presigned URL is refused`(_ url: String) {
        let error = #expect(throws: StoreError.self) { try OSSPresignedUpload(url) }
        #expect(error?.code == .presignedMalformed)
    }

    @Test func `a request signed in its query becomes a URL with header fields`() throws {
        var request = OSSRequestToSign(.put, bucket: "cards", key: "a b/空.jpg")
        request.headers[.contentType] = "image/jpeg"
        func signed(_ placement: OSSSigningRules.Placement) throws -> OSSSignedRequest {
            let material = try OSSSigningMaterial(
                request, rules: OSSSigningRules(.v4, region: "cn-hangzhou", placement: placement),
                identity: OSSSigningIdentity(accessKeyID: "ak"), date: Self.now)
            return material.signed(with: material.signature(with: .secret("sk")))
        }
        let place = "https://cards.example.com/\(PercentEncoding.path("a b/空.jpg"))"
        let upload = try OSSPresignedUpload(signed(.query(validFor: .seconds(600))), at: place)
        #expect(upload.expiration == Self.now.addingTimeInterval(600))
        #expect(upload.headers[.contentType] == "image/jpeg")
        #expect(upload.url.value.hasPrefix("https://cards.example.com/a%20b/%E7%A9%BA.jpg?x-oss-signature-version="))
        #expect(throws: StoreError.self) { try OSSPresignedUpload(signed(.header), at: place) }
        #expect(throws: StoreError.self) {
            try OSSPresignedUpload(signed(.query(validFor: .seconds(600))), at: "\(place)?a")
        }
    }
}
