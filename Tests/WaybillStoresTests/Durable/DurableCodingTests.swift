import Foundation
import HTTPTypes
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct `Durable store uploads, encoded` {
    private static func written(_ upload: some DurableUpload) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(upload), as: UTF8.self)
    }

    private static func read<Upload: DurableUpload>(_ text: String) throws -> Upload {
        try JSONDecoder().decode(Upload.self, from: Data(text.utf8))
    }

    @Test func `all options of an OSS upload survive encoding`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        var configuration = try fixture.ossConfiguration
        configuration.signatureVersion = .v1
        configuration.additionalHeaders = [.accept]
        configuration.comparesChecksums = false
        var options = OSSObjectOptions()
        options.contentType = "application/pdf"
        options.headers = [.cacheControl: "no-cache"]
        options.metadata = ["author": "Ä"]
        options.metadataPolicy = .percentEncode
        options.access = .private
        options.storageClass = .archive
        options.forbidsOverwrite = true
        options.tags = ["year": "2026"]
        options.encryption = "KMS"
        options.encryptionKeyID = "key-1"
        options.trafficLimit = 819_200
        options.callback = OSSCallback(["https://app.example/stored"], body: "key=${object}", bodyType: .json)
        options.callback?.host = "inner.example"
        options.callback?.sendsServerName = true
        options.callback?.variables = ["order": "7"]
        let upload = try await DurableOSSUpload(
            file: file.path, to: "films/7.mov", configuration: configuration, in: "other-bucket", credential: "test",
            options: options)
        let text = try Self.written(upload)
        let back: DurableOSSUpload = try Self.read(text)
        #expect(back.options == options)
        #expect(back.bucket == "other-bucket" && back.key == "films/7.mov" && back.credential == "test")
        #expect(back.sending == upload.sending)
        #expect(back.lane == upload.lane && back.files == upload.files)
        #expect(try Self.written(back) == text)
        let delivering = try back.sending.configuration(fixture.delivery(), isInParts: true)
        #expect(delivering.endpoint == configuration.endpoint && delivering.signatureVersion == .v1)
        #expect(delivering.additionalHeaders == [.accept] && delivering.records == nil)
    }

    @Test(arguments: ["https://oss-cn-hangzhou.aliyuncs.com", "https://img.example.com", "https://10.0.0.7:8080"])
    func `each form of endpoint survives encoding, with its lane`(_ text: String) throws {
        let endpoint = try OSSEndpoint(text)
        var configuration = AliyunOSSClient.Configuration(endpoint: endpoint, bucket: "scans")
        configuration.region = "cn-hangzhou"
        let upload = try DurableOSSUpload([1], to: "k", configuration: configuration, credential: "a")
        #expect(try upload.sending.parsedEndpoint() == endpoint)
        let host = endpoint.form == .virtualHost ? "scans.\(endpoint.host)" : endpoint.host
        #expect(upload.lane.description.hasPrefix(host) && upload.lane.description.hasSuffix(" as a"))
    }

    @Test func `all options of a Qiniu upload survive encoding, its policy without a deadline`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(1_000)
        var options = QiniuPutOptions()
        options.variables = ["order": "7"]
        options.metadata = ["author": "alice"]
        options.formFields = ["cacheControl": "no-cache"]
        options.priority = .high
        options.tags = ["a", "b"]
        options.group = "photos"
        var policy = QiniuPutPolicy(scope: .prefix("cards/", bucket: "photos"), deadline: .now + 5)
        policy.callbackURLs = ["https://backend.example/stored"]
        policy.callbackBody = "key=$(key)"
        policy.callbackBodyType = .json
        policy.fileSizeLimit = 102_400
        policy.allowedTypes = .only(["image/*"])
        policy.typeDetection = .always
        policy.storageClass = .infrequent
        let upload = try await DurableQiniuUpload(
            file: file.path, to: "cards/7.mov", in: "photos", credential: "test",
            configuration: fixture.qiniuConfiguration, contentType: "image/jpeg", options: options, policy: policy,
            tokenLifetime: .seconds(600))
        let text = try Self.written(upload)
        let back: DurableQiniuUpload = try Self.read(text)
        #expect(back.options.variables == options.variables && back.options.metadata == options.metadata)
        #expect(back.options.formFields == options.formFields && back.options.priority == .high)
        #expect(back.options.tags == options.tags && back.options.group == "photos")
        #expect(back.contentType == "image/jpeg" && back.fileName == "film.mov")
        #expect(back.sending == upload.sending && back.lane == upload.lane && back.files == upload.files)
        #expect(back.policy == upload.policy)
        var signed = try #require(back.policy(at: Date(timeIntervalSince1970: 1_000)))
        #expect(signed.deadline == Date(timeIntervalSince1970: 1_600))
        signed.deadline = policy.deadline
        #expect(signed == policy)
        #expect(try Self.written(back) == text)
    }

    @Test(arguments: [
        QiniuScope.bucket("b"), .key("k:1", bucket: "b"), .newKey("k", bucket: "b"), .prefix("k/", bucket: "b"),
    ])
    func `a scope survives encoding`(_ scope: QiniuScope) throws {
        #expect(try JSONDecoder().decode(QiniuScope.self, from: JSONEncoder().encode(scope)) == scope)
    }

    @Test(arguments: [
        QiniuHosts.fixed(["up.example:8080"]), .regions([.z0, .as0]), .queriedFromQiniu,
    ])
    func `hosts survive encoding`(_ hosts: QiniuHosts) async throws {
        let fixture = try DurableFixture()
        var configuration = QiniuClient.Configuration()
        configuration.hosts = hosts
        let sending = QiniuDeliverySettings(configuration)
        let back = try JSONDecoder().decode(QiniuDeliverySettings.self, from: JSONEncoder().encode(sending))
        #expect(back == sending && back.configuration(fixture.delivery(), isInParts: false).hosts == hosts)
    }

    @Test func `uploads encoded by earlier releases can be decoded`() throws {
        let oss: DurableOSSUpload = try Self.read(
            """
            {"bucket":"scans","credential":"a","file":{"path":"/tmp/x","stamp":{"inode":1,"modifiedNanoseconds":2,\
            "modifiedSeconds":3,"size":4}},"key":"k","options":{"contentType":"text/plain","later":1},"sending":{\
            "additionalHeaders":[],"allowsUnencrypted":false,"comparesChecksums":true,"endpoint":\
            "https://oss-cn-hangzhou.aliyuncs.com","form":"virtualHost","partSize":6291456,"partsAtOnce":5,\
            "product":"oss","wholeUpTo":8388608}}
            """)
        #expect(oss.lane.description == "scans.oss-cn-hangzhou.aliyuncs.com:443 as a")
        #expect(oss.files.map(\.count) == [4] && oss.options.contentType == "text/plain")
        let qiniu: DurableQiniuUpload = try Self.read(
            """
            {"bucket":"photos","credential":"a","file":{"path":"/tmp/x"},"fileName":"x","key":"k","options":{},\
            "sending":{"checksHash":true,"formThreshold":4194304,"hosts":["up.example"],"partSize":4194304,\
            "partsAtOnce":3,"usesTLS":true},"tokenLifetimeSeconds":3600}
            """)
        #expect(qiniu.lane.description == "qiniu:photos as a" && qiniu.policy == nil)
    }

    @Test(arguments: [true, false])
    func `no account secret is encoded, neither with the upload nor with its resume record`(
        _ isOSS: Bool
    ) async throws {
        let secret = "SECRET-THAT-NOBODY-WRITES"
        var settings = OSSStoreSettings()
        settings.accounts = [OSSAccount("ak", "sk", token: secret)]
        let fixture = try DurableFixture(settings)
        let file = try fixture.file(isOSS ? 400_000 : 3 << 20)
        let accounts = StoreAccounts(
            oss: [
                "test": .fixed(
                    StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk"), securityToken: .secret(secret)))
            ], qiniu: ["test": .keys(QiniuKeys(accessKey: "ak", secretKey: .secret(secret)), bucket: "photos")])
        let kept = Watched<[[UInt8]]>([])
        let text: String
        if isOSS {
            let upload = try await fixture.toOSS(file.path)
            text = try Self.written(upload) + "\(upload)" + String(reflecting: upload)
            _ = try await upload.deliver(fixture.delivery(kept: kept, accounts))
        } else {
            let upload = try await fixture.toQiniu(file.path)
            text = try Self.written(upload) + "\(upload)" + String(reflecting: upload)
            // The store has another secret: only the encoded data matters here.
            _ = try await uploadError { try await upload.deliver(fixture.delivery(kept: kept, accounts)) }
            _ = try await upload.deliver(fixture.delivery(kept: kept))
        }
        let records = kept.value.map { String(decoding: $0, as: UTF8.self) }
        #expect(records.count >= 4)
        for written in records + [text, "\(accounts)", String(reflecting: accounts)] {
            #expect(!written.contains(secret) && !written.contains("UpToken") && !written.contains("OSS4-HMAC"))
            #expect(!written.contains("ak:"))
        }
    }

    @Test func `options that can't be encoded or sent are refused on creation`() async throws {
        let fixture = try DurableFixture()
        let file = try fixture.file(300_000)
        for name in ["authorization", "x-oss-security-token", "x-oss-server-side-encryption-customer-key", "Cookie"] {
            let error = try await storeError {
                try await fixture.toOSS(file.path) { $0.headers[HTTPField.Name(name)!] = "x" }
            }
            #expect(error.code.description == "notDurable" && error.message.lowercased().contains(name.lowercased()))
        }
        #expect(try await storeError { try await fixture.toOSS("/nowhere") }.code.description == "fileNotFound")
        #expect(try await storeError { try await fixture.toOSS(file.path, "/k") }.code == .invalidKey)
        #expect(
            try await storeError { try await fixture.toOSS(file.path) { $0.trafficLimit = 1 } }.code == .invalidArgument
        )
        let noBucket = AliyunOSSClient.Configuration(endpoint: try .region("cn-hangzhou"))
        #expect(
            try await storeError { try DurableOSSUpload([1], to: "k", configuration: noBucket, credential: "a") }.code
                == .invalidBucket)
        let tooLong = String(repeating: "k", count: 750)
        #expect(try await storeError { try await fixture.toQiniu(file.path, tooLong) }.code == .invalidArgument)
        let policy = QiniuPutPolicy(scope: .key("other", bucket: "photos"), deadline: .now)
        #expect(
            try await storeError { try await fixture.toQiniu(file.path, policy: policy) }.code == .invalidPutPolicy)
    }

    @Test func `paths become absolute, and a prepared object provides key and type`() async throws {
        let fixture = try DurableFixture()
        let object = PreparedObject(
            key: "cards/7.jpg", source: .bytes([1, 2, 3]), length: 3, contentType: "image/jpeg",
            metadata: ["side": "front"], sha256: nil, report: nil)
        let oss = try await DurableOSSUpload(object, configuration: fixture.ossConfiguration, credential: "test")
        #expect(oss.key == "cards/7.jpg" && oss.options.contentType == "image/jpeg")
        #expect(oss.options.metadata == ["side": "front"])
        let qiniu = try await DurableQiniuUpload(
            object, in: "photos", credential: "test", configuration: fixture.qiniuConfiguration)
        #expect(qiniu.key == "cards/7.jpg" && qiniu.fileName == "7.jpg" && qiniu.contentType == "image/jpeg")
        _ = try await oss.deliver(fixture.delivery())
        _ = try await qiniu.deliver(fixture.delivery())
        #expect(fixture.oss.object("cards/7.jpg")?.fields["x-oss-meta-side"] == "front")
        #expect(fixture.qiniu.object("cards/7.jpg")?.metadata == ["x-qn-meta-side": "front"])
        #expect(throws: EncodingError.self) { try Self.written(oss) }
        #expect(try AbsolutePath.of("a/b").hasPrefix("/") && AbsolutePath.of("a/b").hasSuffix("/a/b"))
    }
}
