import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import WaybillCore
import WaybillTesting

@testable import WaybillStores

@Suite(.timeLimit(.minutes(Slowness.factor))) struct `OSS signing rules` {
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)
    private static let identity = OSSSigningIdentity(accessKeyID: "ak")

    private func code(
        bucket: String? = "bucket", key: String? = "key", rules: OSSSigningRules = OSSSigningRules(.v1),
        token: Bool = false
    ) -> String {
        do throws(StoreError) {
            _ = try OSSSigningMaterial(
                OSSRequestToSign(.put, bucket: bucket, key: key), rules: rules,
                identity: OSSSigningIdentity(accessKeyID: "ak", securityToken: token ? .secret("t") : nil),
                date: Self.now)
        } catch {
            return error.code.description
        }
        return "signed"
    }

    @Test(arguments: ["abc", "a-b", "123", String(repeating: "a", count: 63)])
    func `valid bucket names are accepted`(_ bucket: String) { #expect(code(bucket: bucket) == "signed") }

    @Test(
        arguments: [
            "", "ab", String(repeating: "a", count: 64), "-abc", "abc-", "Abc", "a_b", "a.b", "a b", "空空空", "a/b",
            "abc\n", "e\u{301}bc",
        ])
    func `invalid bucket names are refused`(_ bucket: String) {
        #expect(code(bucket: bucket) == "invalidBucket")
    }

    @Test(
        arguments: [
            "a", "1+2", "100%", "a#b", "a?b", "空/票.jpg", "a//b", "a/../b", ".", "..", "a\\b", " a ", "a/",
            String(repeating: "空", count: 341), String(repeating: "a", count: 1_023),
        ])
    func `valid keys are accepted`(_ key: String) { #expect(code(key: key) == "signed") }

    @Test(
        arguments: [
            "", "/a", "\\a", "//", String(repeating: "a", count: 1_024), String(repeating: "空", count: 342),
        ])
    func `invalid keys are refused`(_ key: String) { #expect(code(key: key) == "invalidKey") }

    @Test func `a key without a bucket is refused`() { #expect(code(bucket: nil) == "invalidBucket") }

    @Test(arguments: ["", "oss-cn-hangzhou", "cn hangzhou", "CN-HANGZHOU", "cn/hangzhou"])
    func `version 4 requires a region id`(_ region: String) {
        #expect(code(rules: OSSSigningRules(.v4, region: region)) == "invalidRegion")
        #expect(code(rules: OSSSigningRules(.v4)) == "invalidRegion")
    }

    @Test(
        arguments: [
            (0, false, "invalidExpiration"), (-1, false, "invalidExpiration"), (1, false, "signed"),
            (604_800, false, "signed"), (604_801, false, "invalidExpiration"), (43_200, true, "signed"),
            (43_201, true, "invalidExpiration"), (Int.max, false, "invalidExpiration"),
        ])
    func `a presigned URL is valid for 1 second to 7 days, or 12 hours with a token`(
        _ seconds: Int, _ hasToken: Bool, _ expected: String
    ) {
        for version in OSSSignatureVersion.allCases {
            let rules = OSSSigningRules(
                version, region: "cn-hangzhou", placement: .query(validFor: .seconds(Int64(seconds))))
            #expect(code(rules: rules, token: hasToken) == expected)
        }
        #expect(
            code(rules: OSSSigningRules(.v1, placement: .query(validFor: .milliseconds(999)))) == "invalidExpiration")
    }

    @Test(arguments: ["a+b %41#?", "空", "a//b/../c", "e\u{301}"])
    func `URL and signature encode keys identically`(_ key: String) throws {
        let material = try OSSSigningMaterial(
            OSSRequestToSign(.put, bucket: "bucket", key: key), rules: OSSSigningRules(.v4, region: "cn-hangzhou"),
            identity: Self.identity, date: Self.now)
        let lines = try #require(material.canonicalRequest).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[1] == "/bucket/\(PercentEncoding.path(key))")
        let first = try OSSSigningMaterial(
            OSSRequestToSign(.put, bucket: "bucket", key: key), rules: OSSSigningRules(.v1), identity: Self.identity,
            date: Self.now)
        #expect(
            Array(first.stringToSign.utf8.suffix(key.utf8.count)) == Array(key.utf8), "version 1 signs the key as it is"
        )
    }

    @Test func `the query of version 4 is sorted by its encoded form`() throws {
        let query = [("b", "2"), ("a~", "1"), ("a", "/"), ("a", "+"), ("空", ""), ("A", "")].map {
            StoreQueryItem($0, $1)
        }
        let material = try OSSSigningMaterial(
            OSSRequestToSign(.get, bucket: "bucket", query: query), rules: OSSSigningRules(.v4, region: "cn-hangzhou"),
            identity: Self.identity, date: Self.now)
        let lines = try #require(material.canonicalRequest).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[2] == "%E7%A9%BA&A&a=%2B&a=%2F&a~=1&b=2")
    }

    @Test func `an empty AccessKey ID is refused`() {
        let error = #expect(throws: StoreError.self) {
            try OSSSigningMaterial(
                OSSRequestToSign(.put, bucket: "bucket", key: "key"), rules: OSSSigningRules(.v1),
                identity: OSSSigningIdentity(accessKeyID: ""), date: Self.now)
        }
        #expect(error?.code == .credentialsUnavailable)
    }

    @Test(arguments: OSSSignatureVersion.allCases)
    func `a remote signer matches local signing`(_ version: OSSSignatureVersion) async throws {
        let rules = OSSSigningRules(version, region: "cn-hangzhou")
        let request = OSSRequestToSign(.put, bucket: "bucket", key: "key")
        let credentials = StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk"))
        let local = try await OSSCredentialSigner(.fixed(credentials)).sign(
            request, rules: rules, at: Self.now, rejecting: nil)
        #expect(local.credentials == credentials)
        let whole: [@Sendable (OSSSigningMaterial) -> String] = [
            { $0.signature(with: .secret("sk")) }, { " \($0.signature(with: .secret("sk")))\t" },
            { material in material.signed(with: material.signature(with: .secret("sk"))).headers[.authorization] ?? ""
            },
        ]
        for answer in whole {
            let remote = try await OSSRemoteSigner(accessKeyID: "ak") { answer($0) }.sign(
                request, rules: rules, at: Self.now, rejecting: nil)
            #expect(remote.headers == local.headers)
            #expect(remote.credentials == nil)
        }
    }

    @Test(arguments: ["", "<html>", "OSS other:26NBxoKdsyly4EDv6inkoDft/yA=", "26NB\r\nX-Evil: 1xxxxxxxxxxxxx", "zz"])
    func `an invalid remote signature is refused`(_ answer: String) async {
        for version in OSSSignatureVersion.allCases {
            let error = await #expect(throws: StoreError.self) {
                try await OSSRemoteSigner(accessKeyID: "ak") { _ in answer }.sign(
                    OSSRequestToSign(.put, bucket: "bucket", key: "key"),
                    rules: OSSSigningRules(version, region: "cn-hangzhou"), at: Self.now, rejecting: nil)
            }
            #expect(error?.code == .signingFailed)
        }
    }

    @Test func `a remote signer that throws or hangs fails the signing`() async {
        struct Refusal: Error {}
        let request = OSSRequestToSign(.put, bucket: "bucket", key: "key")
        let failing = OSSRemoteSigner(accessKeyID: "ak") { _ in throw Refusal() }
        let error = await #expect(throws: StoreError.self) {
            try await failing.sign(request, rules: OSSSigningRules(.v1), at: Self.now, rejecting: nil)
        }
        #expect(error?.code == .signingFailed)
        #expect(error?.cause is Refusal)
        let clock = ManualClock()
        let never = Observed(false)
        let hanging = OSSRemoteSigner(accessKeyID: "ak", clock: clock) { _ in
            await never.wait { $0 }
            return ""
        }
        let waiting = Task {
            try await hanging.sign(request, rules: OSSSigningRules(.v1), at: Self.now, rejecting: nil)
        }
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(30))
        let late = await #expect(throws: StoreError.self) { try await waiting.value }
        #expect(late?.code == .signingFailed)
    }
}
