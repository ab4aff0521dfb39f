import FoundationEssentials
import TestSupport
import Testing
import WaybillCore

@testable import WaybillStores

@Suite(.timeLimit(.minutes(Slowness.factor))) struct `Recoveries at Qiniu` {
    @Test func `a learned clock applies to later uploads`() async throws {
        let fixture = try QiniuFixture()
        fixture.store.fail(.clockAhead(seconds: 7_200), times: nil)
        let client = fixture.client()
        for key in ["a", "b"] { _ = try await client.upload(.data([1, 2, 3]), to: key) }
        #expect((7_195...7_205).contains(client.clockCorrection))
        #expect(fixture.store.state.log(.form).map(\.status) == [401, 200, 200])
    }

    @Test(arguments: [QiniuScope.bucket("photos"), .newKey("k", bucket: "photos")])
    func `a damaged object that the token can't replace is not sent again`(_ scope: QiniuScope) async throws {
        let fixture = try QiniuFixture()
        fixture.store.fail(.wrongHash, on: .form, times: nil)
        let client = fixture.client(
            tokens: .keys(QiniuFixture.keys) { _, now in
                QiniuPutPolicy(scope: scope, deadline: now.addingTimeInterval(3_600))
            })
        let error = try await storeError { try await client.upload(.data([4, 5]), to: "k") }
        #expect(error.code == .checksumMismatch)
        #expect(fixture.store.state.log(.form).count == 1)
    }

    @Test func `parts of an upload that is restarted do not count as progress`() async throws {
        let fixture = try QiniuFixture()
        for status in [701, 400] { fixture.store.fail(.refuse(status, "no"), on: .part, part: 2) }
        let client = fixture.client { $0.maximumConcurrentParts = 1 }
        let upload = client.startUpload(.data(QiniuFixture.bytes(3 << 20)), to: "k")
        let error = try await storeError { try await upload.value }
        #expect(error.status == 400 && fixture.store.state.log(.begin).count == 2)
        #expect(upload.currentProgress.acknowledged == 1 << 20)
    }
}
