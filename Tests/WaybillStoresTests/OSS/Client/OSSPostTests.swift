import FoundationEssentials
import TestSupport
import Testing
import Waybill
import WaybillCore
import WaybillMultipart

@testable import WaybillStores

@Suite(.timeLimit(.minutes(Slowness.factor))) struct `Forms posted to OSS` {
    @Test(arguments: OSSSignatureVersion.allCases)
    func `a signed form has its file last`(_ version: OSSSignatureVersion) async throws {
        let fixture = try OSSFixture { configuration, _ in configuration.signatureVersion = version }
        let file = try fixture.file(200_000, "front.jpg")
        var options = OSSObjectOptions()
        options.metadata = ["author": "alice"]
        options.access = .private
        options.callback = OSSCallback(["http://app.example"], body: "${object}:${x:order}")
        options.callback?.variables = ["order": "7"]
        let stored = try await fixture.client.post(.file("file", path: file.path), to: "卡/front.jpg", options: options)
        let object = try #require(fixture.store.object("卡/front.jpg"))
        #expect(object.content.bytes == file.bytes)
        #expect(stored.checksum == CRC(.ecma, of: file.bytes).value)
        #expect(object.callback == "%E5%8D%A1%2Ffront.jpg:7")
        #expect(object.fields["x-oss-meta-author"] == "alice")
        #expect(stored.key == "卡/front.jpg")
    }

    @Test func `a post handles checksum, lost response and token failures like a put`() async throws {
        let fixture = try OSSFixture()
        let file = try fixture.file(50_000, "front.jpg")
        fixture.store.fail(.wrongChecksum, on: .postObject)
        try await fixture.client.post(.file("file", path: file.path), to: "a")
        #expect(fixture.store.object("a")?.timesStored == 2)
        fixture.store.fail(.storeThenDrop, on: .postObject)
        let found = try await fixture.client.post(.file("file", path: file.path), to: "b")
        #expect(found.wasFoundStored)
        #expect(fixture.store.object("b")?.timesStored == 1)
        fixture.store.fail(.tokenExpired, on: .postObject)
        try await fixture.client.post(.file("file", path: file.path), to: "c")
        #expect(fixture.store.object("c")?.content.bytes == file.bytes)
    }

    @Test func `a form signed by a server is sent unchanged and needs no credentials`() async throws {
        let fixture = try OSSFixture()
        struct NullHandler: ObjectStoreSigner {
            func sign(
                _ request: OSSRequestToSign, rules: OSSSigningRules, at date: Date, rejecting: StoreCredentials?
            ) async throws(StoreError) -> OSSSignedRequest {
                throw StoreError(.signingFailed, "nobody signs here")
            }
        }
        let client = try AliyunOSSClient(configuration: fixture.client.configuration, signer: NullHandler())
        let none = try await storeError { try await client.post(.data("file", [1, 2]), to: "cards/1") }
        #expect(none.code == .credentialsUnavailable)
        let policy = OSSPostPolicy(
            expiration: .now.addingTimeInterval(600),
            conditions: [.bucket("examplebucket"), .startsWith("key", "cards/")])
        let form = try policy.form(
            at: "\(fixture.store.endpoint)/examplebucket/", rules: OSSSigningRules(.v4, region: "cn-hangzhou"),
            credentials: StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk")))
        try await client.post(.data("file", [1, 2]), to: "cards/1", form: form)
        #expect(fixture.store.object("cards/1")?.content.bytes == [1, 2])
        let refused = try await storeError { try await client.put(.data([1]), to: "k") }
        #expect(refused.code == .signingFailed)
    }
}
