import FoundationEssentials
import HTTPTypes
import Testing
import Waybill

@testable import WaybillStores

@Suite struct `OSS requests and responses` {
    private func reply(_ status: Int, _ body: String, _ headers: HTTPFields = [:]) -> StoreErrorResponse {
        StoreErrorResponse(
            UploadResponse(status: .init(code: status), headers: headers, body: Array(body.utf8)))
    }

    @Test func `an error is parsed from its XML`() {
        let reply = reply(
            403,
            """
            <?xml version="1.0"?><Error><Code>RequestTimeTooSkewed</Code><Message>too far &amp; away</Message>
            <RequestId>5C3D</RequestId><HostId>h</HostId><EC>0002-00000504</EC>
            <ServerTime>2022-09-04T08:11:37.000Z</ServerTime></Error>
            """)
        #expect(reply.form == .xml)
        #expect(reply.code == "RequestTimeTooSkewed")
        #expect(reply.message == "too far & away")
        #expect(reply.detailCode == "0002-00000504")
        #expect(reply.isClockError)
        #expect(reply.serverTime == Date(timeIntervalSince1970: 1_662_279_097))
    }

    @Test func `an error of HEAD is parsed from its header field`() {
        let xml = "<Error><Code>SecurityTokenExpired</Code><EC>1</EC></Error>"
        let reply = reply(
            403, "", [HTTPField.Name("x-oss-err")!: Data(xml.utf8).base64EncodedString(), .ossRequestID: "7"])
        #expect(reply.code == "SecurityTokenExpired")
        #expect(reply.isCredentialError)
        #expect(reply.requestID == "7")
    }

    @Test(
        arguments: [
            ("", StoreErrorResponse.Form.empty), ("  \r\n", .empty), ("<!DOCTYPE HTML><html><p>502", .html),
            ("\n<HTML><body>", .html), (#"{"error":"x"}"#, .json), ("[1]", .json),
        ])
    func `error bodies that are not from OSS are classified`(_ body: String, _ form: StoreErrorResponse.Form) {
        #expect(reply(502, body).form == form)
    }

    @Test(arguments: ["plain", "<Error><Code>", "<Other/>", "<!DOCTYPE Error [<!ENTITY a 'b'>]><Error>&a;</Error>"])
    func `an unreadable error body has no code`(_ body: String) {
        let reply = reply(500, body)
        #expect(reply.code == nil)
        #expect(reply.foreignResponseHint != nil)
    }

    @Test func `metadata beyond ASCII is refused, or percent-encoded if configured`() throws {
        var options = OSSObjectOptions()
        options.metadata = ["Author": "爱丽丝"]
        let error = try #require(throws: StoreError.self) { try options.fields(for: "k") }
        #expect(error.code == .invalidArgument)
        options.metadataPolicy = .percentEncode
        #expect(try options.fields(for: "k")[HTTPField.Name("x-oss-meta-author")!] == "%E7%88%B1%E4%B8%BD%E4%B8%9D")
        for (name, value) in [("a b", "x"), ("", "x"), ("é", "x"), ("a:b", "x")] {
            options.metadata = [name: value]
            #expect(throws: StoreError.self) { try options.fields(for: "k") }
        }
        options.metadataPolicy = .refuse
        for value in [" x", "x ", "a\r\nHost: evil", "\u{7F}"] {
            options.metadata = ["a": value]
            #expect(throws: StoreError.self) { try options.fields(for: "k") }
        }
    }

    @Test func `each object option has its header field`() throws {
        var options = OSSObjectOptions()
        options.headers[.cacheControl] = "no-store"
        options.access = .publicRead
        options.storageClass = .infrequentAccess
        options.forbidsOverwrite = true
        options.tags = ["b&": "2 3", "a": "1"]
        options.encryption = "KMS"
        options.encryptionKeyID = "id"
        options.trafficLimit = 819_200
        let fields = try options.fields(for: "x/card.jpg")
        #expect(fields[.contentType] == "image/jpeg")
        #expect(fields[.cacheControl] == "no-store")
        #expect(fields[.ossACL] == "public-read")
        #expect(fields[.ossStorageClass] == "IA")
        #expect(fields[.ossForbidOverwrite] == "true")
        #expect(fields[.ossTagging] == "a=1&b%26=2%203")
        #expect(fields[.ossEncryption] == "KMS")
        #expect(try options.limitFields()[.ossTrafficLimit] == "819200")
        options.trafficLimit = 819_199
        #expect(throws: StoreError.self) { try options.limitFields() }
        options.headers[.contentType] = "x/y"
        #expect(throws: StoreError.self) { try options.fields(for: "k") }
    }

    @Test func `a callback is encoded as Base64 of JSON with checked names`() throws {
        var callback = OSSCallback(["https://a/x", "https://b"], body: "key=${object}&o=${x:order}")
        callback.variables = ["order": "七"]
        let fields = try callback.fields()
        let order = try #require(fields[.ossCallback].flatMap { Data(base64Encoded: $0) })
        #expect(
            String(decoding: order, as: UTF8.self)
                == #"{"callbackBody":"key=${object}&o=${x:order}","callbackBodyType":"application/x-www-form-urlencoded","callbackUrl":"https://a/x;https://b"}"#
        )
        let variables = try #require(fields[.ossCallbackVariables].flatMap { Data(base64Encoded: $0) })
        #expect(String(decoding: variables, as: UTF8.self) == #"{"x:order":"七"}"#)
        callback.variables = ["Order": "1"]
        #expect(throws: StoreError.self) { try callback.fields() }
        callback.variables = [:]
        for urls in [[], ["ftp://a"], ["https://a;b"], Array(repeating: "https://a", count: 6)] {
            callback.urls = urls
            #expect(throws: StoreError.self) { try callback.fields() }
        }
        callback.urls = ["https://a"]
        callback.body = String(repeating: "x", count: 5_000)
        #expect(throws: StoreError.self) { try callback.fields() }
    }

    @Test func `a part list is parsed to its end, and one without an end is refused`() throws {
        func page(_ text: String) throws -> (parts: [PartReceipt], next: Int?) {
            try MultipartXML.parts(in: UploadResponse(status: .ok, body: Array(text.utf8)), checksum: "HashCrc64ecma")
        }
        let two = try page(
            """
            <ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>2</NextPartNumberMarker>
            <Part><PartNumber>1</PartNumber><ETag>"A"</ETag><HashCrc64ecma>7</HashCrc64ecma><Size>10</Size></Part>
            <Part><PartNumber>2</PartNumber><ETag>&quot;B&quot;</ETag><Size>9</Size></Part>
            <Part><PartNumber>x</PartNumber></Part></ListPartsResult>
            """)
        #expect(two.next == 2)
        #expect(
            two.parts == [
                PartReceipt(number: 1, size: 10, tag: "\"A\"", checksum: "7"),
                PartReceipt(number: 2, size: 9, tag: "\"B\""),
            ])
        #expect(throws: StoreError.self) {
            try page("<ListPartsResult><IsTruncated>true</IsTruncated></ListPartsResult>")
        }
        #expect(throws: StoreError.self) { try page("<Error><Code>x</Code></Error>") }
        #expect(throws: StoreError.self) { try page("<html>") }
    }

    @Test func `clients without encryption or with invalid options are refused`() throws {
        let credentials = CredentialProvider.fixed(StoreCredentials(accessKeyID: "ak", accessKeySecret: .secret("sk")))
        func code(_ change: (inout AliyunOSSClient.Configuration) -> Void) throws -> StoreError.Code? {
            var configuration = AliyunOSSClient.Configuration(
                endpoint: try OSSEndpoint("http://10.0.0.7"), bucket: "bkt")
            configuration.allowsUnencrypted = true
            change(&configuration)
            do throws(StoreError) {
                _ = try AliyunOSSClient(configuration: configuration, credentials: credentials)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(try code { _ in } == nil)
        #expect(try code { $0.allowsUnencrypted = false } == .encryptionRequired)
        #expect(try code { $0.transfer.tls.insecureSkipVerification = true } == .encryptionRequired)
        #expect(try code { $0.transfer.proxyTLS.insecureSkipVerification = true } == .encryptionRequired)
        #expect(try code { $0.signatureVersion = .v4 } == .invalidRegion)
        #expect(try code { $0.region = "oss-cn-hangzhou" } == .invalidRegion)
        #expect(try code { $0.bucket = "Bad_Bucket" } == .invalidBucket)
        #expect(try code { $0.maximumConcurrentParts = 0 } == .invalidArgument)
    }

    @Test func `the defaults match those of the vendor's clients`() throws {
        let configuration = AliyunOSSClient.Configuration(endpoint: try .region("cn-hangzhou"))
        #expect(configuration.retry.maxRetries == 3)
        #expect(configuration.maximumConcurrentRequests == 5)
        #expect(configuration.transfer.limits.stall == .seconds(15))
        #expect(configuration.transfer.limits.total == .seconds(604_800))
        #expect(configuration.rules.version == .v4)
        #expect(configuration.rules.region == "cn-hangzhou")
    }
}
