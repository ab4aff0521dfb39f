import FoundationEssentials
import HTTPTypes
import Testing
import WaybillCore

@testable import WaybillStores

@Suite struct `Differences of strings to sign` {
    private static func signed(_ version: OSSSignatureVersion) throws -> OSSSignedRequest {
        var request = OSSRequestToSign(
            .put, bucket: "bucket", key: "a+b",
            query: [StoreQueryItem("uploadId", "UPLOAD"), StoreQueryItem("partNumber", "1")])
        request.headers[.contentType] = "image/jpeg"
        let material = try OSSSigningMaterial(
            request, rules: OSSSigningRules(version, region: "cn-hangzhou"),
            identity: OSSSigningIdentity(accessKeyID: "ak", securityToken: .secret("TOKEN")),
            date: Date(timeIntervalSince1970: 1_700_000_000))
        return material.signed(with: material.signature(with: .secret("sk")))
    }

    @Test(
        arguments: [
            ("PUT", "POST", 1, "method"), ("image/jpeg", "", 3, "content type"),
            ("Tue, 14 Nov", "Wed, 15 Nov", 4, "date"), ("/bucket/a+b", "/bucket/a b", 6, "resource"),
        ])
    func `the first different line is named`(_ mine: String, _ other: String, _ line: Int, _ subject: String) throws {
        let signed = try Self.signed(.v1)
        let difference = OSSSignatureDifference(
            of: signed, theirStringToSign: signed.stringToSign.replacing(mine, with: other))
        #expect(difference.line == line)
        #expect(difference.description.contains("(\(subject))"), "\(difference)")
        #expect(!"\(difference)".contains("UPLOAD"), "\(difference)")
    }

    @Test func `version 4 compares canonical requests instead of their hashes`() throws {
        let signed = try Self.signed(.v4)
        let canonical = try #require(signed.canonicalRequest)
        let difference = OSSSignatureDifference(
            of: signed, theirStringToSign: "other",
            theirCanonicalRequest: canonical.replacing("a%2Bb", with: "a+b"))
        #expect(difference.line == 2)
        #expect(difference.description.contains("(path)"))
        let query = OSSSignatureDifference(
            of: signed, theirStringToSign: "other",
            theirCanonicalRequest: canonical.replacing("partNumber=1", with: "partNumber=2"))
        #expect(query.line == 3)
        #expect(query.ours == "partNumber=1&uploadId=<redacted>")
        let hash = OSSSignatureDifference(of: signed, theirStringToSign: signed.stringToSign + "0")
        #expect(hash.line == 4)
    }

    @Test func `tokens are redacted, and control characters of the store are escaped`() throws {
        let signed = try Self.signed(.v1)
        let token = OSSSignatureDifference(
            of: signed, theirStringToSign: signed.stringToSign.replacing("TOKEN", with: "OTHERTOKEN"))
        #expect(token.line == 5)
        #expect(!"\(token)".contains("TOKEN"))
        let hostile = OSSSignatureDifference(
            of: signed, theirStringToSign: "\u{1B}[2J\u{202E}" + String(repeating: "x", count: 5_000))
        #expect(hostile.theirs.hasPrefix("\\u{1b}[2J\\u{202e}"))
        #expect(hostile.theirs.utf8.count < 400)
    }

    @Test(
        arguments: [
            ("/b/k?security-token=T&x=1", "/b/k?security-token=<redacted>&x=1"),
            ("a=1&x-oss-security-token=T", "a=1&x-oss-security-token=<redacted>"),
            ("/b/k?partNumber=1&uploadId=U", "/b/k?partNumber=1&uploadId=<redacted>"),
            ("x-oss-security-token:T", "x-oss-security-token:<redacted>"),
            ("X-OSS-Security-Token:T", "x-oss-security-token:<redacted>"),
            ("/b/k?callback=C", "/b/k?callback=<redacted>"), ("x-oss-date:now", "x-oss-date:now"),
        ])
    func `secrets in a line are redacted`(_ line: String, _ shown: String) {
        #expect(OSSSignatureDifference.shown(line) == shown)
    }

    @Test func `two equal strings point to the secret`() throws {
        let signed = try Self.signed(.v4)
        let difference = OSSSignatureDifference(
            of: signed, theirStringToSign: signed.stringToSign, theirCanonicalRequest: signed.canonicalRequest)
        #expect(difference.line == nil)
        #expect(difference.description.contains("AccessKey secret"))
    }

    @Test func `lines are compared by bytes`() throws {
        let signed = try Self.signed(.v1)
        let theirs = signed.stringToSign.replacing("a+b", with: "e\u{301}")
        let composed = OSSSignedRequest(
            request: signed.request, stringToSign: signed.stringToSign.replacing("a+b", with: "\u{E9}"),
            canonicalRequest: nil)
        #expect(OSSSignatureDifference(of: composed, theirStringToSign: theirs).line == 6)
    }
}
