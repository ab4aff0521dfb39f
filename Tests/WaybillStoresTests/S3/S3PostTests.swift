import FoundationEssentials
import TestSupport
import Testing
import Waybill
import WaybillMultipart

@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct `S3 forms` {
    private static func form(
        _ fixture: S3Fixture, _ conditions: [S3PostPolicy.Condition], token: String? = nil
    ) throws -> S3PostForm {
        var policy = S3PostPolicy(expiration: .now.addingTimeInterval(600))
        policy.conditions = [.bucket("examplebucket")] + conditions
        let credentials = StoreCredentials(
            accessKeyID: "ak", accessKeySecret: .secret("sk"), securityToken: token.map { .secret($0) })
        return try policy.form(
            at: "\(fixture.store.endpoint)/examplebucket/", region: "us-east-1", credentials: credentials)
    }

    @Test(arguments: [nil, "tok3n"]) func `a signed form uploads an object without credentials`(
        _ token: String?
    ) async throws {
        var settings = S3Fixture.settings
        settings.accounts = [OSSAccount("ak", "sk", token: token)]
        let fixture = try S3Fixture(.aws, settings)
        let form = try Self.form(
            fixture,
            [
                .startsWith("key", "用户/"), .contentLength(1...10), .equals("content-type", "text/plain"),
                .exactly("x-amz-meta-price", "5 $ \\ \"net\""),
            ], token: token)
        let request = try form.request(
            key: "用户/$1.txt", file: .data("f", Array("hello s3".utf8), fileName: "a.txt"),
            additional: [S3PostForm.Field("Content-Type", "text/plain"), .init("x-amz-meta-price", "5 $ \\ \"net\"")])
        let response = try await fixture.client.session.send(request)
        #expect(response.status == .noContent)
        let object = try #require(fixture.store.object("用户/$1.txt"))
        #expect(object.content.bytes == Array("hello s3".utf8))
        #expect(object.fields["content-type"] == "text/plain")
        #expect(fixture.store.state.log.map(\.signature) == [.v4Form])
    }

    @Test func `a form that violates its policy is refused by the store`() async throws {
        let fixture = try S3Fixture()
        let form = try Self.form(fixture, [.key("k"), .contentLength(1...3)])
        let request = try form.request(key: "k", file: .data("f", Array("four".utf8), fileName: "a"))
        let error = try await #require(throws: UploadError.self) { try await fixture.client.session.send(request) }
        #expect(error.response?.status.code == 400)
        #expect(fixture.store.object("k") == nil)
    }

    @Test func `a form from a server is parsed`() throws {
        let json =
            #"{"url": "https://b.s3.amazonaws.com/", "fields": {"key": "k", "policy": "e30=", "x-amz-signature": "0"}}"#
        let form = try S3PostForm(json: Array(json.utf8))
        #expect(form.fields.map(\.name) == ["key", "policy", "x-amz-signature"])
        #expect(!"\(form)".contains("e30="))
    }

    @Test func `invalid policies are refused`() throws {
        let fixture = try S3Fixture()
        func code(
            _ conditions: [S3PostPolicy.Condition], at date: Date = Date(timeIntervalSince1970: 999)
        ) -> StoreError.Code? {
            do throws(StoreError) {
                var policy = S3PostPolicy(expiration: Date(timeIntervalSince1970: 1_000))
                policy.conditions = conditions
                _ = try policy.form(
                    at: fixture.store.endpoint, region: "us-east-1",
                    credentials: StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk")),
                    date: date)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code([.equals("", "k")]) == .invalidPolicy)
        #expect(code([.oneOf("key", ["a"])]) == .invalidPolicy)
        #expect(code([.key("k")], at: Date(timeIntervalSince1970: 1_000)) == .invalidExpiration)
    }
}
