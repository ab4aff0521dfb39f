import Foundation
import HTTPTypes
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox
@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct `Durable store uploads, failing` {
    /// The failure class that a queue derives from an error.
    private static func kind(_ error: UploadError) -> String {
        let failure = FailureClass(error, attempt: 1, policy: OutboxRetry(), jitter: 0)
        switch failure.ending {
        case .delivered: return "delivered"
        case .refused: return "refused"
        case .transient: return "transient"
        case .lane: return "lane"
        case .offline: return "offline"
        case .unknown: return "unknown"
        case .sourceChanged: return "sourceChanged"
        case .aborted: return "aborted"
        }
    }

    struct OSSRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var ending: String
        var fail: @Sendable (OSSStore) -> Void = { _ in }
        var accounts: @Sendable () -> any NamedCredentials = { DurableFixture.accounts }
        var change: @Sendable (inout OSSObjectOptions) -> Void = { _ in }
    }

    static let ossRows = [
        OSSRow(testDescription: "busy", ending: "transient", fail: { $0.fail(.busy(retryAfter: 7), on: .putObject) }),
        OSSRow(testDescription: "a gateway's page", ending: "unknown", fail: { $0.fail(.html(status: 502)) }),
        OSSRow(
            testDescription: "a portal's page", ending: "unknown", fail: { $0.fail(.html(status: 200), times: nil) }),
        OSSRow(testDescription: "token refused", ending: "lane", fail: { $0.fail(.tokenExpired, times: nil) }),
        OSSRow(testDescription: "no right", ending: "refused", fail: { $0.fail(.denied, on: .putObject) }),
        OSSRow(
            testDescription: "one is there", ending: "refused", fail: { $0.put("k", [1]) },
            change: { $0.forbidsOverwrite = true }),
        OSSRow(
            testDescription: "no answer, and none to the question", ending: "unknown",
            fail: {
                $0.fail(.storeThenDrop, on: .putObject)
                $0.fail(.drop(afterBodyBytes: 0), on: .headObject, times: nil)
            }),
        OSSRow(testDescription: "other bytes", ending: "transient", fail: { $0.fail(.wrongChecksum, times: nil) }),
        OSSRow(
            testDescription: "a clock that can't be put right", ending: "lane",
            fail: { $0.skew(OSSSkew(seconds: 7_200, report: .dateOf1970)) }),
        OSSRow(
            testDescription: "credentials that ran out", ending: "lane",
            accounts: {
                var keys = DurableFixture.ossKeys
                keys.expiration = Date(timeIntervalSince1970: 1_700_000_000)
                return StoreAccounts(oss: ["test": .fixed(keys)])
            }),
        OSSRow(testDescription: "an unknown account", ending: "lane", accounts: { CredentialTable { _ in nil } }),
    ]

    @Test(arguments: ossRows) func `each failure of OSS has its failure class`(_ row: OSSRow) async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(100_000)
        row.fail(fixture.oss)
        let upload = try await fixture.toOSS(file.path, "k", row.change)
        let error = try await uploadError { try await upload.deliver(fixture.delivery(row.accounts())) }
        #expect(Self.kind(error) == row.ending, "\(String(reflecting: error))")
        if row.testDescription == "busy" { #expect(error.retryAfter == .seconds(7)) }
        let description = "\(error) \(String(reflecting: error)) \(String(describing: error.cause))"
        #expect(!description.contains("OSS4-HMAC") && !description.contains("\"sk\""))
    }

    struct QiniuRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var ending: String
        var fault: QiniuFault?
        var accounts: @Sendable () -> any NamedCredentials = { DurableFixture.accounts }
    }

    static let qiniuRows = [
        QiniuRow(testDescription: "too fast", ending: "transient", fault: .refuse(573, "slow down")),
        QiniuRow(testDescription: "599", ending: "unknown", fault: .refuse(599, "server error")),
        QiniuRow(testDescription: "503", ending: "transient", fault: .refuse(503, "")),
        QiniuRow(testDescription: "something else is there", ending: "refused", fault: .refuse(614, "file exists")),
        QiniuRow(testDescription: "no such bucket", ending: "refused", fault: .refuse(631, "no such bucket")),
        QiniuRow(testDescription: "too large", ending: "refused", fault: .refuse(413, "fsizeLimit")),
        QiniuRow(testDescription: "type not allowed", ending: "refused", fault: .refuse(403, "limited mimeType")),
        QiniuRow(testDescription: "forbidden", ending: "refused", fault: .refuse(403, "forbidden")),
        QiniuRow(testDescription: "bad token", ending: "lane", fault: .refuse(401, "bad token")),
        QiniuRow(testDescription: "frozen", ending: "lane", fault: .refuse(419, "account frozen")),
        QiniuRow(testDescription: "a portal", ending: "unknown", fault: .captivePortal),
        QiniuRow(testDescription: "other bytes", ending: "transient", fault: .wrongHash),
        QiniuRow(testDescription: "checksum", ending: "transient", fault: .refuse(406, "crc32 does not match")),
        QiniuRow(testDescription: "cut off", ending: "unknown", fault: .drop(afterBodyBytes: 10_000)),
        QiniuRow(testDescription: "an unknown account", ending: "lane", accounts: { CredentialTable { _ in nil } }),
        QiniuRow(
            testDescription: "a token for another bucket", ending: "refused",
            accounts: { StoreAccounts(qiniu: ["test": .keys(DurableFixture.qiniuKeys, bucket: "other")]) }),
        QiniuRow(
            testDescription: "no token provider", ending: "lane",
            accounts: { StoreAccounts(qiniu: ["test": .provider { _ in throw CancellationError() }]) }),
    ]

    @Test(arguments: qiniuRows)
    func `each failure of Qiniu has its failure class`(_ row: QiniuRow) async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(100_000)
        if let fault = row.fault { fixture.qiniu.fail(fault, times: nil) }
        let upload = try await fixture.toQiniu(file.path)
        let error = try await uploadError { try await upload.deliver(fixture.delivery(row.accounts())) }
        #expect(Self.kind(error) == row.ending, "\(String(reflecting: error))")
    }

    @Test(arguments: [true, false]) func `a refused connection is classified as offline`(_ isOSS: Bool) async throws {
        let fixture = try DurableFixture()
        let closed = try ClosedPort()
        let file = try fixture.file(1_000)
        let error: UploadError
        if isOSS {
            var configuration = try fixture.ossConfiguration
            configuration.endpoint = try OSSEndpoint("http://127.0.0.1:\(closed.port)")
            let upload = try await DurableOSSUpload(
                file: file.path, to: "k", configuration: configuration, credential: "test")
            error = try await uploadError { try await upload.deliver(fixture.delivery()) }
        } else {
            var query = QiniuRegionQuery()
            query.services = ["http://127.0.0.1:\(closed.port)"]
            var configuration = QiniuClient.Configuration()
            configuration.hosts = .queried(query)
            let upload = try await DurableQiniuUpload(
                file: file.path, to: "k", in: "photos", credential: "test", configuration: configuration)
            error = try await uploadError { try await upload.deliver(fixture.delivery()) }
        }
        #expect(Self.kind(error) == "offline" && error.code == .cannotConnect, "\(error)")
    }

    @Test func `a date error of signature version 4 is a failure of the lane`() throws {
        let body = """
            <Error><Code>InvalidArgument</Code><Message>Invalid signing date in Authorization header.</Message></Error>
            """
        let response = UploadResponse(status: .badRequest, headers: [.ossRequestID: "1"], body: Array(body.utf8))
        let under = UploadError(.rejected, "400", phase: .failed, outcome: .rejected, response: response)
        let error = StoreError(StoreErrorResponse(response), response, outcome: .rejected, cause: under)
        #expect(Self.kind(UploadError(error, attempt: 1)) == "lane")
        // A part with an unknown outcome is not an object with an unknown outcome.
        var part = StoreError(UploadError(Self.lost, "lost", phase: .failed, outcome: .unknown))
        #expect(Self.kind(UploadError(part, attempt: 1)) == "unknown")
        part.part = 3
        #expect(Self.kind(UploadError(part, attempt: 1)) == "transient")
    }

    private static let lost = UploadError.Code("connectionLost")

    @Test func `expired credentials block the lane, and valid ones unblock both items`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        let isGood = Watched(false)
        let provider = CredentialProvider.federated(pace: CredentialPace(minimumInterval: .zero, initialBackoff: .zero))
        {
            var keys = DurableFixture.ossKeys
            if !isGood.value { keys.expiration = Date(timeIntervalSince1970: 1_700_000_000) }
            return keys
        }
        let accounts = StoreAccounts(oss: ["test": provider])
        let outbox = try await fixture.open(accounts)
        try await outbox.enqueue(try await fixture.toOSS(file.path, "a"))
        try await outbox.enqueue(try await fixture.toOSS(file.path, "b"))
        try await fixture.deliver(outbox)
        let lane = try await fixture.toOSS(file.path).lane.description
        #expect(try await outbox.blockedLanes() == [lane: "credentialRefreshFailed"])
        #expect(try await outbox.tally()[.ready] == 2 && fixture.oss.state.log.isEmpty)
        for try await item in outbox.items() { #expect(item.attempts == 0) }
        isGood.update { $0 = true }
        try await outbox.unblock(lane: lane)
        try await fixture.deliver(outbox)
        #expect(try await outbox.tally()[.done] == 2)
        await outbox.close()
    }

    @Test func `clock skew is detected once for all deliveries of an account`() async throws {
        let fixture = try DurableFixture()
        fixture.oss.skew(OSSSkew(seconds: 7_200, report: .serverTime))
        let file = try fixture.file(1_000)
        let accounts = DurableFixture.accounts
        for number in 0..<5 {
            _ = try await fixture.toOSS(file.path, "\(number)").deliver(fixture.delivery(accounts))
        }
        #expect(fixture.oss.state.log(.putObject).count == 6)
        #expect(fixture.oss.state.log(.putObject).filter { $0.status == 403 }.count == 1)
    }

    @Test func `the region is queried once for all deliveries of an account`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        var query = QiniuRegionQuery()
        query.services = [fixture.qiniu.url()]
        query.suffixes = ["127.0.0.1"]
        var configuration = fixture.qiniuConfiguration
        configuration.hosts = .queried(query)
        configuration.usesTLS = false
        let accounts = DurableFixture.accounts
        for number in 0..<5 {
            let upload = try await DurableQiniuUpload(
                file: file.path, to: "\(number)", in: "photos", credential: "test", configuration: configuration)
            _ = try await upload.deliver(fixture.delivery(accounts))
        }
        #expect(fixture.qiniu.state.log(.regions).count == 1 && fixture.qiniu.state.log(.form).count == 5)
    }

    @Test func `named accounts are JSON for OSS, and a token or JSON for Qiniu`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        let token = try DurableFixture.qiniuKeys.uploadToken(
            for: QiniuPutPolicy(scope: .bucket("photos"), deadline: .now + 600))
        let table = CredentialTable { name in
            switch name {
            case "oss": .secret(#"{"AccessKeyId": "ak", "AccessKeySecret": "sk"}"#)
            case "keys": .secret(#"{"accessKey": "ak", "secretKey": "sk"}"#)
            case "token": token.text
            case "broken": .secret(#"{"accessKey": "ak"}"#)
            default: nil
            }
        }
        for credentials in [table as any NamedCredentials, StoreAccounts(others: table)] {
            _ = try await fixture.toOSS(file.path, credential: "oss").deliver(fixture.delivery(credentials))
            _ = try await fixture.toQiniu(file.path, credential: "keys").deliver(fixture.delivery(credentials))
            _ = try await fixture.toQiniu(file.path, credential: "token").deliver(fixture.delivery(credentials))
            for name in ["broken", "nobody"] {
                let upload = try await fixture.toQiniu(file.path, credential: name)
                let error = try await uploadError { try await upload.deliver(fixture.delivery(credentials)) }
                #expect(Self.kind(error) == "lane" && error.message.contains(name))
            }
            // A policy needs keys for signing; an existing token already has one.
            let policy = QiniuPutPolicy(scope: .bucket("photos"), deadline: .now)
            let own = try await fixture.toQiniu(file.path, credential: "token", policy: policy)
            let error = try await uploadError { try await own.deliver(fixture.delivery(credentials)) }
            #expect(Self.kind(error) == "refused")
        }
        #expect(fixture.oss.object("k")?.timesStored == 2 && fixture.qiniu.object("k")?.timesStored == 4)
    }

    @Test func `releasing accounts frees their cached clients`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        let token = try DurableFixture.qiniuKeys.uploadToken(
            for: QiniuPutPolicy(scope: .bucket("photos"), deadline: .now + 600))
        weak var left: StoreAccounts?
        do {
            let accounts = StoreAccounts(others: CredentialTable { _ in token.text })
            left = accounts
            _ = try await fixture.toQiniu(file.path, credential: "token").deliver(fixture.delivery(accounts))
        }
        #expect(left == nil && fixture.qiniu.object("k") != nil)
    }
}
