import Testing

@testable import WaybillStores

@Suite struct `OSS endpoints` {
    @Test(
        arguments: [
            ("oss-cn-hangzhou.aliyuncs.com", "https://bkt.oss-cn-hangzhou.aliyuncs.com/a/b"),
            ("https://oss-cn-hangzhou.aliyuncs.com/", "https://bkt.oss-cn-hangzhou.aliyuncs.com/a/b"),
            ("HTTP://OSS-cn-hangzhou-internal.aliyuncs.com", "http://bkt.oss-cn-hangzhou-internal.aliyuncs.com/a/b"),
            ("https://oss-accelerate.aliyuncs.com", "https://bkt.oss-accelerate.aliyuncs.com/a/b"),
            ("https://cloud.aliyun-inc.com:8443", "https://bkt.cloud.aliyun-inc.com:8443/a/b"),
            ("https://img.example.com", "https://img.example.com/a/b"),
            ("https://img.example.com:444", "https://img.example.com:444/a/b"),
            ("http://10.0.0.7:8080", "http://10.0.0.7:8080/bkt/a/b"),
            ("https://[::1]:9", "https://[::1]:9/bkt/a/b"),
            // Four numbers that are not an address are a name.
            ("https://1.2.3.400", "https://1.2.3.400/a/b"),
            ("https://evilaliyuncs.com", "https://evilaliyuncs.com/a/b"),
        ])
    func `the position of the bucket follows from the host`(_ text: String, _ url: String) throws {
        #expect(try OSSEndpoint(text).url(bucket: "bkt", key: "a/b") == url)
    }

    @Test func `private cloud hosts take the bucket as subdomain, or in the path if configured`() throws {
        let excluded = ["oss.corp.example"]
        #expect(
            try OSSEndpoint("https://oss.corp.example", excludedFromDomains: excluded).url(bucket: "bkt", key: "k")
                == "https://bkt.oss.corp.example/k")
        #expect(
            try OSSEndpoint("https://oss.corp.example", form: .path, excludedFromDomains: excluded)
                .url(bucket: "bkt", key: "k") == "https://oss.corp.example/bkt/k")
        #expect(
            try OSSEndpoint("https://oss-cn-hangzhou.aliyuncs.com", form: .path).url(bucket: "bkt", key: "k")
                == "https://oss-cn-hangzhou.aliyuncs.com/bkt/k")
    }

    @Test func `the path of an endpoint is refused unless keepsPath is set`() throws {
        let endpoint = try OSSEndpoint("https://gateway.example/oss/v1/", keepsPath: true)
        #expect(try endpoint.url(bucket: "bkt", key: "k") == "https://gateway.example/oss/v1/k")
        let error = try #require(throws: StoreError.self) { try OSSEndpoint("https://gateway.example/oss") }
        #expect(error.code == .invalidEndpoint)
    }

    @Test func `keys are percent-encoded, with dots and slashes kept`() throws {
        let endpoint = try OSSEndpoint("https://10.0.0.7")
        #expect(
            try endpoint.url(bucket: "bkt", key: "a b+c%41#?空//../.")
                == "https://10.0.0.7/bkt/a%20b%2Bc%2541%23%3F%E7%A9%BA//../.")
    }

    @Test(
        arguments: [
            "", "https://", "ftp://h", "https://user@h", "https://h?x", "https://h#x", "https://h h", "https://h:0",
            "https://h:x", "https://h:70000", "https://.h", "https://h\u{0}", "https://h\\x", "https://空.example",
        ])
    func `an invalid endpoint is refused`(_ text: String) throws {
        let error = try #require(throws: StoreError.self) { try OSSEndpoint(text, keepsPath: true) }
        #expect(error.code == .invalidEndpoint)
    }

    @Test func `an endpoint that already contains the bucket is refused`() throws {
        let endpoint = try OSSEndpoint("https://bkt.oss-cn-hangzhou.aliyuncs.com")
        let error = try #require(throws: StoreError.self) { try endpoint.url(bucket: "bkt", key: "k") }
        #expect(error.code == .invalidEndpoint)
    }

    @Test(
        arguments: [
            ("oss-cn-hangzhou.aliyuncs.com", "cn-hangzhou"), ("oss-cn-hangzhou-internal.aliyuncs.com", "cn-hangzhou"),
            ("cn-hangzhou.oss.aliyuncs.com", "cn-hangzhou"), ("oss-accelerate.aliyuncs.com", nil),
            ("oss-accelerate-overseas.aliyuncs.com", nil), ("img.example.com", nil), ("10.0.0.7", nil),
        ] as [(String, String?)])
    func `the region is parsed from the host`(_ text: String, _ region: String?) throws {
        #expect(try OSSEndpoint(text).region == region)
    }

    @Test func `endpoints of a region have the documented names`() throws {
        #expect(try OSSEndpoint.region("cn-beijing").text == "https://oss-cn-beijing.aliyuncs.com")
        #expect(
            try OSSEndpoint.region("cn-beijing", over: .internalNetwork).text
                == "https://oss-cn-beijing-internal.aliyuncs.com")
        #expect(try OSSEndpoint.region("cn-beijing", over: .dualStack).text == "https://cn-beijing.oss.aliyuncs.com")
        #expect(throws: StoreError.self) { try OSSEndpoint.region("oss-cn-beijing") }
        #expect(try OSSEndpoint.accelerated.url(bucket: "bkt", key: "k") == "https://bkt.oss-accelerate.aliyuncs.com/k")
    }
}
