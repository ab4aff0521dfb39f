import FoundationEssentials
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct `S3 failures` {
    private let bytes = Array("hello s3".utf8)
    private var absent: S3ObjectOptions {
        var options = S3ObjectOptions()
        options.condition = .isAbsent
        return options
    }

    // MARK: Conditional writes

    @Test func `a conditional write keeps the existing object and is not retried`() async throws {
        let fixture = try S3Fixture()
        fixture.store.put("k", [1])
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k", options: absent) }
        #expect(error.code == .rejected)
        #expect(error.storeCode == "PreconditionFailed")
        #expect(error.status == 412)
        #expect(error.host == "127.0.0.1:\(fixture.store.port)")
        #expect(error.description.hasPrefix("rejected: Amazon S3 responded with 412 PreconditionFailed"))
        #expect(fixture.store.state.log.count == 1)
        #expect(fixture.store.object("k")?.content.bytes == [1])
    }

    @Test func `a write is made only over the object with the expected ETag`() async throws {
        let fixture = try S3Fixture()
        let first = try await fixture.client.put(.data([1]), to: "k")
        var options = S3ObjectOptions()
        options.condition = .matches(etag: first.etag)
        try await fixture.client.put(.data(bytes), to: "k", options: options)
        let error = try await storeError { try await fixture.client.put(.data([2]), to: "k", options: options) }
        #expect(error.storeCode == "PreconditionFailed")
        #expect(fixture.store.object("k")?.content.bytes == bytes)
    }

    @Test func `a condition is refused if the store would ignore it`() async throws {
        let fixture = try S3Fixture(.ceph)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k", options: absent) }
        #expect(error.code == .invalidArgument)
        #expect(fixture.store.state.log.isEmpty)
    }

    @Test func `a conditional write that was stored before an error is recognized`() async throws {
        let fixture = try S3Fixture()
        fixture.store.fail(.xml(status: 503, .cut), on: .putObject)
        let stored = try await fixture.client.put(.data(bytes), to: "k", options: absent)
        #expect(stored.wasFoundStored)
        #expect(fixture.store.object("k")?.timesStored == 1)
        #expect(fixture.count(.putObject) == 2)
        #expect(fixture.count(.headObject) == 1)
    }

    @Test func `a conditional write after a corrected clock does not claim the object of another writer`() async throws
    {
        let fixture = try S3Fixture()
        fixture.store.put("k", bytes)
        fixture.store.skew(OSSSkew(seconds: 7_200, report: .serverTime))
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k", options: absent) }
        #expect(error.storeCode == "PreconditionFailed")
        #expect(fixture.store.state.log.map(\.operation) == [.putObject, .putObject])
    }

    @Test func `a conditional write that stored damaged bytes is a checksum mismatch`() async throws {
        let fixture = try S3Fixture()
        fixture.store.fail(.wrongChecksum, on: .putObject, .headObject, times: nil)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k", options: absent) }
        #expect(error.code == .checksumMismatch)
        #expect(fixture.store.state.log.map(\.code) == [nil, "PreconditionFailed", nil])
    }

    @Test func `a conflict of conditional writes is sent again once`() async throws {
        let fixture = try S3Fixture()
        fixture.store.fail(.refused(status: 409, code: "ConditionalRequestConflict"), on: .putObject)
        try await fixture.client.put(.data(bytes), to: "k", options: absent)
        #expect(fixture.count(.putObject) == 2)
    }

    @Test(arguments: [true, false]) func `a probe finds out whether conditions are checked`(_ isChecked: Bool)
        async throws
    {
        var settings = S3Fixture.settings
        settings.checksConditions = isChecked
        let fixture = try S3Fixture(.generic, settings)
        #expect(try await fixture.client.checkConditionalWrites(key: "probe") == isChecked)
        #expect(fixture.store.state.keys().isEmpty)
        fixture.store.put("probe", [7])
        let error = try await storeError { try await fixture.client.checkConditionalWrites(key: "probe") }
        #expect(error.code == .objectExists)
        #expect(fixture.store.object("probe")?.content.bytes == [7])
    }

    @Test func `a store that has no conditions fails the probe`() async throws {
        let fixture = try S3Fixture(.generic)
        fixture.store.once({ $0.log(.putObject).count == 1 }) { [store = fixture.store] in
            store.fail(.refused(status: 400, code: "NotImplemented"), on: .putObject)
        }
        #expect(try await !fixture.client.checkConditionalWrites(key: "probe"))
    }

    // MARK: Lost responses

    @Test(arguments: [S3Profile.aws, .generic])
    func `a lost response is recovered by the MD5 of the stored object`(_ profile: S3Profile) async throws {
        let fixture = try S3Fixture(profile)
        fixture.store.fail(.storeThenDrop, on: .putObject)
        let stored = try await fixture.client.put(.data(bytes), to: "k")
        #expect(stored.wasFoundStored)
        #expect(stored.etag == "\"\(fixture.store.object("k")?.etag ?? "")\"")
        #expect(fixture.count(.putObject) == 1)
        #expect(fixture.store.object("k")?.timesStored == 1)
    }

    @Test func `an object that was stored before the last of several server errors is recognized`() async throws {
        let fixture = try S3Fixture()
        fixture.store.fail(.html(status: 500), on: .putObject, times: 3)
        fixture.store.fail(.xml(status: 500, .cut), on: .putObject)
        #expect(try await fixture.client.put(.data(bytes), to: "k").wasFoundStored)
        fixture.store.fail(.html(status: 500), on: .putObject, times: nil)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "other") }
        #expect(error.status == 500 && error.outcome == .unknown)
        #expect(fixture.count(.putObject) == 8 && fixture.count(.headObject) == 2)
    }

    @Test(arguments: [(.aws, false), (.ceph, false), (.oss, nil), (.garage, nil)] as [(S3Profile, Bool?)])
    func `an ETag of parts identifies the object only if it is computed from their MD5s`(
        _ profile: S3Profile, _ isSame: Bool?
    ) throws {
        let object = S3ObjectRequests(
            client: try S3Fixture(profile).client, bucket: "examplebucket", key: "k", options: S3ObjectOptions())
        let (ours, theirs) = (String(repeating: "0", count: 32), String(repeating: "1", count: 32))
        let response = UploadResponse(status: .ok, headers: [.eTag: "\"\(theirs)-2\""])
        #expect(object.matches("\(ours)-2", response) == isSame)
        #expect(object.matches("\(theirs)-2", response) == true)
        #expect(object.matches(ours, response) == false)
    }

    @Test func `the outcome is unknown if the ETag of the stored object is not comparable`() async throws {
        let fixture = try S3Fixture(.generic)
        fixture.store.fail(.storeThenDrop, on: .putObject)
        fixture.store.fail(.wrongChecksum, on: .headObject)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k") }
        #expect(error.outcome == .unknown)
        #expect(fixture.count(.putObject) == 1)
    }

    // MARK: Damage

    @Test func `an object with another MD5 is sent again once`() async throws {
        let fixture = try S3Fixture()
        fixture.store.fail(.wrongChecksum, on: .putObject)
        try await fixture.client.put(.data(bytes), to: "k")
        #expect(fixture.count(.putObject) == 2)
        fixture.store.fail(.wrongChecksum, on: .putObject, times: nil)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "other") }
        #expect(error.code == .checksumMismatch)
        #expect(fixture.count(.putObject) == 4)
    }

    @Test(arguments: ["BadDigest", "XAmzContentSHA256Mismatch"])
    func `a body that arrived damaged is sent again once`(_ code: String) async throws {
        let fixture = try S3Fixture()
        fixture.store.fail(.refused(status: 400, code: code), on: .putObject)
        try await fixture.client.put(.data(bytes), to: "k")
        #expect(fixture.count(.putObject) == 2)
        fixture.store.fail(.refused(status: 400, code: code), on: .putObject, times: nil)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "other") }
        #expect(error.code == .checksumMismatch && error.storeCode == code)
        #expect(fixture.count(.putObject) == 4)
    }

    @Test func `an ETag that is no MD5 is not compared`() async throws {
        let fixture = try S3Fixture(.kodo)
        fixture.store.fail(.wrongChecksum, on: .putObject)
        try await fixture.client.put(.data(bytes), to: "k")
        #expect(fixture.count(.putObject) == 1)
    }

    @Test(arguments: [200, 503])
    func `the page of a proxy is no object`(_ status: Int) async throws {
        let fixture = try S3Fixture()
        fixture.store.fail(.html(status: status), on: .putObject, times: nil)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k") }
        #expect(error.code == (status == 200 ? .unexpectedResponse : .rejected))
        #expect(error.message.contains("HTML"))
        #expect(fixture.store.object("k") == nil)
    }

    // MARK: Transient failures

    @Test func `SlowDown is retried`() async throws {
        let fixture = try S3Fixture()
        fixture.store.fail(.busy(), on: .putObject, times: 2)
        try await fixture.client.put(.data(bytes), to: "k")
        #expect(fixture.store.state.log.map(\.code) == ["SlowDown", "SlowDown", nil])
    }

    @Test func `RequestTimeout is sent again once`() async throws {
        let fixture = try S3Fixture()
        let fault = OSSFault.refused(status: 400, code: "RequestTimeout")
        fixture.store.fail(fault, on: .putObject)
        try await fixture.client.put(.data(bytes), to: "k")
        #expect(fixture.count(.putObject) == 2)
        fixture.store.fail(fault, on: .putObject, times: nil)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k") }
        #expect(error.storeCode == "RequestTimeout")
        #expect(fixture.count(.putObject) == 4)
    }

    // MARK: Credentials and clocks

    @Test func `expired credentials are renewed once`() async throws {
        let fixture = try S3Fixture()
        fixture.store.fail(.tokenExpired, on: .putObject)
        try await fixture.client.put(.data(bytes), to: "k")
        #expect(fixture.fetches.value == 2)
        #expect(fixture.store.state.log.map(\.code) == ["ExpiredToken", nil])
    }

    @Test func `an expired token is recognized from a response to HEAD, which has no body`() async throws {
        var settings = S3Fixture.settings
        settings.accounts = [OSSAccount("ak", "sk", token: "token")]
        let fixture = try S3Fixture(.aws, settings)
        var counted = CountedCredentials(count: fixture.fetches)
        counted.credentials.securityToken = .secret("token")
        let client = try S3Client(configuration: fixture.client.configuration, credentials: counted.provider)
        fixture.store.put("k", bytes)
        fixture.store.fail(.refused(status: 400, code: "ExpiredToken"), on: .headObject)
        #expect(try await client.head("k").size == 8)
        #expect(fixture.count(.headObject) == 2)
    }

    @Test func `a wrong secret is explained`() async throws {
        var settings = S3Fixture.settings
        settings.accounts = [OSSAccount("ak", "other")]
        let fixture = try S3Fixture(.aws, settings)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k") }
        #expect(error.storeCode == "SignatureDoesNotMatch")
        #expect(error.message.contains("the secrets differ"))
    }

    @Test(arguments: [OSSSkew.Report.serverTime, .dateOnly, .serverTimeAndDateOf1970], [-7_200, 7_200])
    func `a wrong clock is corrected once`(_ report: OSSSkew.Report, _ seconds: Int) async throws {
        let fixture = try S3Fixture()
        fixture.store.skew(OSSSkew(seconds: seconds, report: report))
        try await fixture.client.put(.data(bytes), to: "k")
        try await fixture.client.put(.data(bytes), to: "k")
        #expect(fixture.store.state.log.map(\.code) == ["RequestTimeTooSkewed", nil, nil])
        #expect(abs(fixture.client.clockCorrection - Double(seconds)) < 60)
    }

    @Test func `a wrong clock is recognized from a response to HEAD, which has no body`() async throws {
        let fixture = try S3Fixture()
        fixture.store.put("k", bytes)
        fixture.store.skew(OSSSkew(seconds: 7_200, report: .serverTime))
        #expect(try await fixture.client.head("k").size == 8)
        #expect(fixture.count(.headObject) == 2)
    }

    @Test func `a clock is not corrected by an implausible date`() async throws {
        let fixture = try S3Fixture()
        fixture.store.skew(OSSSkew(seconds: 7_200, report: .dateOf1970))
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k") }
        #expect(error.storeCode == "RequestTimeTooSkewed")
        #expect(error.message.contains("Set the clock"))
        #expect(fixture.store.state.log.count == 1)
    }
}
