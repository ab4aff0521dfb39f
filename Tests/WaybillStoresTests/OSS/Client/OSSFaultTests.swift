import FoundationEssentials
import HTTPTypes
import Logging
import TestSupport
import Testing
import Waybill
import WaybillCore
import WaybillMultipart

@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct `OSS failures` {
    private let bytes = Array("hello oss".utf8)

    @Test func `temporary failures are retried by the session`() async throws {
        let fixture = try OSSFixture()
        fixture.store.fail(.busy(), on: .putObject, times: 2)
        try await fixture.client.put(.data(bytes), to: "busy")
        #expect(fixture.count(.putObject) == 3)
        fixture.store.fail(.drop(afterBodyBytes: 4), on: .putObject)
        try await fixture.client.put(.data(bytes), to: "dropped")
        #expect(fixture.store.object("dropped")?.timesStored == 1)
        fixture.store.fail(.html(status: 502), on: .putObject)
        try await fixture.client.put(.data(bytes), to: "page")
        #expect(fixture.store.object("page")?.timesStored == 1)
    }

    @Test func `persistent failures end with status and code of the store`() async throws {
        let fixture = try OSSFixture()
        fixture.store.fail(.busy(), on: .putObject, times: nil)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k") }
        #expect(error.status == 503)
        #expect(error.storeCode == "ServiceUnavailable")
        #expect(fixture.count(.putObject) == 4)
    }

    @Test func `an object whose response was lost is found and not sent again`() async throws {
        let fixture = try OSSFixture()
        fixture.store.fail(.storeThenDrop, on: .putObject)
        let stored = try await fixture.client.put(.data(bytes), to: "k")
        #expect(stored.wasFoundStored)
        #expect(stored.checksum == 15_021_467_531_229_347_219)
        #expect(fixture.store.object("k")?.timesStored == 1)
        #expect(fixture.store.state.log.map(\.operation) == [.putObject, .headObject])
    }

    @Test func `a retry recognizes an object stored despite an error, but not a foreign one`() async throws {
        let fixture = try OSSFixture()
        var options = OSSObjectOptions()
        options.forbidsOverwrite = true
        fixture.store.fail(.xml(status: 503, .cut), on: .putObject)
        let stored = try await fixture.client.put(.data(bytes), to: "k", options: options)
        #expect(stored.wasFoundStored)
        #expect(fixture.store.object("k")?.timesStored == 1)
        fixture.store.put("other", [1, 2, 3])
        fixture.store.fail(.busy(), on: .putObject)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "other", options: options) }
        #expect(error.storeCode == "FileAlreadyExists")
        let file = try fixture.file(300_000)
        fixture.store.fail(.xml(status: 503, .cut), on: .complete)
        let whole = try await fixture.client.upload(file: file.path, to: "film")
        #expect(whole.wasFoundStored)
        #expect(fixture.store.object("film")?.timesStored == 1)
    }

    @Test func `an object of another client is not claimed after a corrected clock`() async throws {
        let fixture = try OSSFixture()
        var options = OSSObjectOptions()
        options.forbidsOverwrite = true
        fixture.store.put("k", bytes)
        fixture.store.skew(OSSSkew(seconds: 7_200, report: .serverTime))
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k", options: options) }
        #expect(error.storeCode == "FileAlreadyExists" && fixture.count(.headObject) == 0)
    }

    @Test func `a server error is followed by a query or a repetition`() async throws {
        let fixture = try OSSFixture()
        fixture.store.fail(.html(status: 500), on: .initiate)
        fixture.store.fail(.xml(status: 504, .cut), on: .complete)
        let stored = try await fixture.client.upload(file: fixture.file(300_000).path, to: "film")
        #expect(stored.wasFoundStored && fixture.store.object("film")?.timesStored == 1)
        #expect(fixture.count(.initiate) == 2 && fixture.count(.complete) == 1)
    }

    @Test func `an object missing after a lost response is sent once more`() async throws {
        let fixture = try OSSFixture()
        // An object of another client under that key does not count.
        fixture.store.put("k", [1, 2, 3])
        fixture.store.fail(.drop(afterBodyBytes: 9), on: .putObject)
        let stored = try await fixture.client.put(.data(bytes), to: "k")
        #expect(!stored.wasFoundStored)
        #expect(fixture.store.object("k")?.content.bytes == bytes)
        #expect(fixture.count(.putObject) == 2)
        fixture.store.fail(.drop(afterBodyBytes: 9), on: .putObject, times: nil)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "other") }
        #expect(error.outcome == .unknown)
        #expect(fixture.count(.putObject) == 4)
    }

    @Test func `a stream whose response was lost is looked up and not repeated`() async throws {
        let fixture = try OSSFixture()
        func chunks() -> AsyncStream<[UInt8]> {
            let bytes = bytes
            return AsyncStream {
                $0.yield(bytes); $0.finish()
            }
        }
        fixture.store.fail(.storeThenDrop, on: .putObject)
        #expect(try await fixture.client.put(.stream(chunks(), length: 9), to: "k").wasFoundStored)
        fixture.store.fail(.drop(afterBodyBytes: 9), on: .putObject)
        let error = try await storeError { try await fixture.client.put(.stream(chunks(), length: 9), to: "other") }
        #expect(error.message.contains("read only once"))
        #expect(error.outcome == .rejected)
        fixture.store.skew(OSSSkew(seconds: 1_200, report: .serverTime))
        let skewed = try await storeError { try await fixture.client.put(.stream(chunks(), length: 9), to: "skewed") }
        #expect(skewed.storeCode == "RequestTimeTooSkewed")
        #expect(skewed.message.contains("read only once"))
    }

    @Test(arguments: OSSSignatureVersion.allCases)
    func `clock skew is corrected once from each hint of the store`(_ version: OSSSignatureVersion)
        async throws
    {
        for report in [OSSSkew.Report.serverTime, .dateOnly, .serverTimeAndDateOf1970, .invalidSigningDate] {
            if report == .invalidSigningDate, version == .v1 { continue }
            for seconds in [1_200, -1_200] {
                let fixture = try OSSFixture { configuration, _ in configuration.signatureVersion = version }
                fixture.store.skew(OSSSkew(seconds: seconds, report: report))
                try await fixture.client.put(.data(bytes), to: "k")
                #expect(fixture.count(.putObject) == 2, "\(report)")
                #expect(abs(fixture.client.clockCorrection - Double(seconds)) < 30)
                try await fixture.client.put(.data(bytes), to: "k2")
                #expect(fixture.count(.putObject) == 3, "\(report): what was learned is forgotten")
                #expect(fixture.store.object("k")?.content.bytes == bytes)
            }
        }
    }

    @Test func `a time of 1970 does not correct the clock, and the message names the clock`() async throws {
        let fixture = try OSSFixture()
        fixture.store.skew(OSSSkew(seconds: 1_200, report: .dateOf1970))
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k") }
        #expect(error.storeCode == "RequestTimeTooSkewed")
        #expect(error.message.contains("clock"))
        #expect(fixture.count(.putObject) == 1)
        #expect(fixture.client.clockCorrection == 0)
    }

    @Test func `expired credentials are refreshed once and the request is repeated`() async throws {
        let fetched = Watched(0)
        let provider = CredentialProvider.federated(pace: CredentialPace(minimumInterval: .zero)) {
            let number = fetched.update { count in
                count += 1
                return count
            }
            return StoreCredentials(
                accessKeyID: "ak\(number)", accessKeySecret: .secret("sk\(number)"),
                securityToken: .secret("token\(number)"))
        }
        var settings = OSSStoreSettings()
        settings.accounts = (1...2).map { OSSAccount("ak\($0)", "sk\($0)", token: "token\($0)") }
        let fixture = try OSSFixture(settings, credentials: provider)
        fixture.store.fail(.tokenExpired, on: .putObject)
        try await fixture.client.put(.data(bytes), to: "k")
        #expect(fetched.value == 2)
        #expect(fixture.count(.putObject) == 2)
        #expect(fixture.store.state.log[1].value(of: "x-oss-security-token") == "token2")
    }

    @Test func `rejected fixed credentials end the upload`() async throws {
        let fixed = CredentialProvider.fixed(StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk")))
        let fixture = try OSSFixture(credentials: fixed)
        fixture.store.fail(.tokenExpired, on: .putObject, times: nil)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k") }
        #expect(error.code == .credentialsRejected)
        #expect(error.storeCode == "SecurityTokenExpired")
        #expect(error.status == 403)
        #expect(fixture.count(.putObject) == 1)
    }

    @Test func `a checksum mismatch is retried once and then fails`() async throws {
        let fixture = try OSSFixture()
        fixture.store.fail(.wrongChecksum, on: .putObject)
        try await fixture.client.put(.data(bytes), to: "k")
        #expect(fixture.store.object("k")?.timesStored == 2)
        fixture.store.fail(.wrongChecksum, on: .putObject, times: nil)
        let error = try await storeError { try await fixture.client.put(.data(bytes), to: "other") }
        #expect(error.code == .checksumMismatch)
        #expect(error.message.contains("15021467531229347219"))
        #expect(fixture.store.object("other")?.timesStored == 2)
        let unchecked = try OSSFixture { configuration, _ in configuration.comparesChecksums = false }
        unchecked.store.fail(.wrongChecksum, on: .putObject, times: nil)
        try await unchecked.client.put(.data(bytes), to: "k")
        #expect(unchecked.count(.putObject) == 1)
    }

    @Test func `web pages, JSON and hostile XML are reported as such`() async throws {
        let fixture = try OSSFixture()
        // The sender of the page may be gone with the second request.
        fixture.store.fail(.html(status: 200), on: .putObject)
        try await fixture.client.put(.data(bytes), to: "portal")
        #expect(fixture.store.object("portal")?.timesStored == 1)
        fixture.store.fail(.html(status: 200), on: .putObject, times: 2)
        let page = try await storeError { try await fixture.client.put(.data(bytes), to: "k") }
        #expect(page.code == .unexpectedResponse)
        #expect(page.message.contains("HTML page"))
        fixture.store.fail(.html(status: 403), on: .putObject)
        let refusal = try await storeError { try await fixture.client.put(.data(bytes), to: "k") }
        #expect(refusal.status == 403)
        #expect(refusal.message.contains("HTML page"))
        for xml in OSSFault.HostileXML.allCases {
            fixture.store.fail(.xml(status: 400, xml), on: .putObject)
            let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k") }
            #expect(error.code == .rejected, "\(xml)")
            #expect(error.storeCode == nil)
            #expect(error.message.utf8.count < 1_000)
        }
    }

    @Test func `a wrong secret is reported as such`() async throws {
        let wrong = CredentialProvider.fixed(StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("not-it")))
        for version in OSSSignatureVersion.allCases {
            let fixture = try OSSFixture(credentials: wrong) { configuration, _ in
                configuration.signatureVersion = version
            }
            let error = try await storeError { try await fixture.client.put(.data(bytes), to: "k") }
            #expect(error.storeCode == "SignatureDoesNotMatch")
            #expect(error.message.contains("secrets differ"))
        }
    }

    @Test func `a signature over another request shows the first line that differs`() async throws {
        struct TamperingSigner: ObjectStoreSigner {
            func sign(
                _ request: OSSRequestToSign, rules: OSSSigningRules, at date: Date, rejecting: StoreCredentials?
            ) async throws(StoreError) -> OSSSignedRequest {
                var other = request
                other.headers[.contentType] = "image/png"
                let credentials = StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk"))
                let material = try OSSSigningMaterial(other, rules: rules, identity: credentials.identity, date: date)
                let original = try OSSSigningMaterial(request, rules: rules, identity: credentials.identity, date: date)
                let signed = material.signed(with: material.signature(with: credentials.accessKeySecret))
                var sent = original.signed(with: material.signature(with: credentials.accessKeySecret))
                sent = OSSSignedRequest(
                    request: sent.request, stringToSign: signed.stringToSign, canonicalRequest: signed.canonicalRequest)
                return sent
            }
        }
        for version in OSSSignatureVersion.allCases {
            let fixture = try OSSFixture()
            var configuration = fixture.client.configuration
            configuration.signatureVersion = version
            let client = try AliyunOSSClient(configuration: configuration, signer: TamperingSigner())
            let error = try await storeError { try await client.put(.data(bytes), to: "card.jpg") }
            #expect(error.storeCode == "SignatureDoesNotMatch")
            #expect(error.message.contains("image/png"))
            #expect(error.message.contains("image/jpeg"))
        }
    }

    @Test func `errors, logs and descriptions contain no key, token, signature or policy`() async throws {
        let log = LogRecorder()
        var settings = OSSStoreSettings()
        settings.accounts = [OSSAccount("KEY-ID-OF-MINE", "SECRET-OF-MINE", token: "TOKEN-OF-MINE")]
        var sessionSettings = UploadSession.Configuration()
        sessionSettings.logger = log.logger
        let fixture = try OSSFixture(
            settings,
            credentials: CredentialProvider.fixed(
                StoreCredentials(
                    accessKeyID: "KEY-ID-OF-MINE", accessKeySecret: .secret("SECRET-OF-MINE"),
                    securityToken: .secret("TOKEN-OF-MINE"))),
            session: UploadSession(configuration: sessionSettings))
        let file = try fixture.file(300_000)
        var texts: [String] = []
        func note(_ value: some Sendable) {
            var dumped = ""
            dump(value, to: &dumped)
            texts += ["\(value)", String(reflecting: value), dumped]
        }
        for version in OSSSignatureVersion.allCases {
            var configuration = fixture.client.configuration
            configuration.signatureVersion = version
            let client = try AliyunOSSClient(
                configuration: configuration,
                credentials: CredentialProvider.fixed(
                    StoreCredentials(
                        accessKeyID: "KEY-ID-OF-MINE", accessKeySecret: .secret("SECRET-OF-MINE"),
                        securityToken: .secret("TOKEN-OF-MINE"))),
                session: fixture.client.session)
            note(try await client.upload(file: file.path, to: "film"))
            note(try await client.post(.data("file", [1]), to: "form"))
            for fault in [OSSFault.busy(), .tokenExpired, .html(status: 403), .xml(status: 400, .cut)] {
                fixture.store.fail(fault, on: .putObject, .postObject, .uploadPart, times: nil)
                note(await client.startPut(.data([1]), to: "k").end())
                note(await client.startPost(.data("file", [1]), to: "k").end())
                note(await client.startUpload(file: file.path, to: "k").end())
                fixture.store.clearFaults()
            }
            note(configuration)
        }
        let printed = texts.joined(separator: "\n") + log.text
        #expect(printed.contains("ServiceUnavailable") && !log.text.isEmpty)
        let signatures = fixture.store.state.log.compactMap { $0.value(of: "Authorization") }
            .compactMap { $0.split(whereSeparator: { ":= ".contains($0) }).last.map(String.init) }
        let ids = fixture.store.state.log.compactMap(\.uploadID)
        #expect(signatures.count > 20 && ids.count > 5)
        for secret in Set(["SECRET-OF-MINE", "TOKEN-OF-MINE", "KEY-ID-OF-MINE"] + signatures + ids) {
            #expect(!printed.contains(secret), "\(secret) is printed")
        }
    }

    @Test func `a stalled upload fails after the stall limit and is retried`() async throws {
        let fixture = try OSSFixture { configuration, _ in configuration.transfer.limits.stall = .milliseconds(300) }
        fixture.store.fail(.stall(afterBodyBytes: 0), on: .putObject)
        let file = try fixture.file(8 << 20)
        try await fixture.client.put(.file(path: file.path), to: "k")
        #expect(fixture.store.object("k")?.timesStored == 1)
    }

    @Test func `a store that rejects 100-continue still gets the body`() async throws {
        let fixture = try OSSFixture { configuration, _ in
            configuration.transfer.expectContinue = .above(.mebibytes(1), wait: .seconds(30))
        }
        fixture.store.fail(.refuseContinue, on: .putObject)
        let file = try fixture.file(2 << 20)
        try await fixture.client.put(.file(path: file.path), to: "k")
        #expect(fixture.store.object("k")?.timesStored == 1)
    }
}

/// A log handler that collects all output.
private final class LogRecorder: Sendable {
    private let lines = Watched("")

    var text: String { lines.value }

    var logger: Logger {
        var logger = Logger(label: "test") { _ in RecordingHandler(lines: self.lines) }
        logger.logLevel = .trace
        return logger
    }

    private struct RecordingHandler: LogHandler {
        let lines: Watched<String>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.update { $0 += "\(event.message) \(event.metadata ?? [:]) \(metadata)\n" }
        }
    }
}
