import FoundationEssentials
import HTTPTypes
import Testing
import WaybillCore

@testable import WaybillStores

/// Published signatures of version 4.
@Suite struct `OSS signatures of version 4` {
    struct Vector: Sendable, CustomTestStringConvertible {
        var name: String
        var seconds: Double
        var day: String
        var region = "cn-hangzhou"
        var product = "oss"
        var token: String?
        var additional: [String] = []
        var covered = ""
        var isPresigned = false
        var signature: String
        var canonicalHash: String?

        var testDescription: String { name }

        var scope: String { "\(day)/\(region)/\(product)/aliyun_v4_request" }

        func signed() throws -> OSSSignedRequest {
            var request = OSSRequestToSign(.put, bucket: "bucket", key: "1234+-/123/1.txt", query: Self.query)
            let type = isPresigned ? "application/octet-stream" : "text/plain"
            for (name, value) in [
                ("x-oss-head1", "value"), ("abc", "value"), ("ZAbc", "value"), ("XYZ", "value"), ("content-type", type),
            ] {
                request.headers.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
            }
            let rules = OSSSigningRules(
                .v4, region: region, product: product,
                additionalHeaders: try additional.map { try #require(HTTPField.Name($0)) },
                placement: isPresigned ? .query(validFor: .seconds(599)) : .header)
            let identity = OSSSigningIdentity(accessKeyID: "ak", securityToken: token.map { .secret($0) })
            let material = try OSSSigningMaterial(
                request, rules: rules, identity: identity, date: Date(timeIntervalSince1970: seconds))
            return material.signed(with: material.signature(with: .secret("sk")))
        }

        static let query = [
            StoreQueryItem("param1", "value1"), StoreQueryItem("+param1", "value3"),
            StoreQueryItem("|param1", "value4"), StoreQueryItem("+param2"), StoreQueryItem("|param2"),
            StoreQueryItem("param2"),
        ]
    }

    static let header: [Vector] = [
        Vector(
            name: "H1", seconds: 1_702_743_657, day: "20231216",
            signature: "e21d18daa82167720f9b1047ae7e7f1ce7cb77a31e8203a7d5f4624fa0284afe",
            canonicalHash: "f4613657f1b108998e8dbd10a1aa5da621dc2c6e02c9ddec0f163664848704c4"),
        Vector(
            name: "H2", seconds: 1_702_743_657, day: "20231216", region: "cb-123", product: "oss-cloudbox",
            signature: "94ce1f12c17d148ea681030275a94449d3357f5b5b21133996eec80af3e08a43"),
        Vector(
            name: "H3", seconds: 1_702_784_856, day: "20231217", token: "token",
            signature: "b94a3f999cf85bcdc00d332fbd3734ba03e48382c36fa4d5af5df817395bd9ea"),
        Vector(
            name: "H4", seconds: 1_702_747_512, day: "20231216",
            additional: ["x-oss-no-exist", "ZAbc", "x-oss-head1", "abc"], covered: "abc;zabc",
            signature: "4a4183c187c07c8947db7620deb0a6b38d9fbdd34187b6dbaccb316fa251212f"),
    ]

    static let presigned: [Vector] = [
        Vector(
            name: "P1", seconds: 1_702_781_677, day: "20231217", isPresigned: true,
            signature: "a39966c61718be0d5b14e668088b3fa07601033f6518ac7b523100014269c0fe",
            canonicalHash: "48814c11f278d51662015bf2f896b66ca10b6de0187ed8d952e341bbce0aa336"),
        Vector(
            name: "P2", seconds: 1_702_785_388, day: "20231217", token: "token", isPresigned: true,
            signature: "3817ac9d206cd6dfc90f1c09c00be45005602e55898f26f5ddb06d7892e1f8b5"),
        Vector(
            name: "P3", seconds: 1_702_783_809, day: "20231217", additional: ["ZAbc", "abc"], covered: "abc;zabc",
            isPresigned: true, signature: "6bd984bfe531afb6db1f7550983a741b103a8c58e5e14f83ea474c2322dfa2b7"),
    ]

    @Test(arguments: header)
    func `header signatures match the published ones`(_ vector: Vector) throws {
        let signed = try vector.signed()
        let additional = vector.covered.isEmpty ? "" : "AdditionalHeaders=\(vector.covered),"
        #expect(
            signed.headers[.authorization]
                == "OSS4-HMAC-SHA256 Credential=ak/\(vector.scope),\(additional)Signature=\(vector.signature)",
            "\(signed.canonicalRequest ?? "")")
        #expect(signed.headers[.ossSecurityToken] == vector.token)
        if let hash = vector.canonicalHash {
            #expect(MessageAuthentication.sha256Text(try #require(signed.canonicalRequest)) == hash)
        }
    }

    @Test(arguments: presigned)
    func `query signatures match the published ones`(_ vector: Vector) throws {
        let signed = try vector.signed()
        #expect(signed.query.last == StoreQueryItem("x-oss-signature", vector.signature))
        #expect(signed.query.contains(StoreQueryItem("x-oss-credential", "ak/\(vector.scope)")))
        #expect(signed.query.contains(StoreQueryItem("x-oss-expires", "599")))
        #expect(
            signed.query.contains(StoreQueryItem("x-oss-additional-headers", vector.covered)) == !vector.covered.isEmpty
        )
        #expect(signed.query.contains(StoreQueryItem("x-oss-security-token", "token")) == (vector.token != nil))
        for name in [HTTPField.Name.authorization, .ossDate, .ossContentSHA256, .ossSecurityToken] {
            #expect(signed.headers[name] == nil, "\(name) stands in the query")
        }
        if let hash = vector.canonicalHash {
            #expect(MessageAuthentication.sha256Text(try #require(signed.canonicalRequest)) == hash)
        }
    }

    @Test func `the canonical request matches the documentation`() throws {
        let signed = try #require(Self.header.first).signed()
        #expect(
            signed.canonicalRequest == """
                PUT
                /bucket/1234%2B-/123/1.txt
                %2Bparam1=value3&%2Bparam2&%7Cparam1=value4&%7Cparam2&param1=value1&param2
                content-type:text/plain
                x-oss-content-sha256:UNSIGNED-PAYLOAD
                x-oss-date:20231216T162057Z
                x-oss-head1:value


                UNSIGNED-PAYLOAD
                """)
    }

    @Test(
        arguments: [
            (1_702_743_657.0, "b412a03b134ebddd720f5167b5de6db66620ebb3b01cff4d49e3ccb09f8de97f"),
            (1_702_784_856.0, "0e11d77e422d3484e84ee6b628fdf2a85f3788e1a597f23116b477efb407e94e"),
        ])
    func `the signing key of a day matches the published one`(_ seconds: Double, _ key: String) {
        let scope = OSSSignatureV4.Scope(
            date: Date(timeIntervalSince1970: seconds), region: "cn-hangzhou", product: "oss")
        #expect(
            MessageAuthentication.hexadecimal(OSSSignatureV4.signingKey(secret: .secret("sk"), scope: scope)) == key)
    }

    /// The canonical request and the last step of the vendor's page are right; its key does not belong to the secret
    /// that it prints.
    @Test func `the vendor's page matches in its canonical request and last step`() throws {
        var request = OSSRequestToSign(.put, bucket: "examplebucket", key: "exampleobject")
        for (name, value) in [
            ("content-disposition", "attachment"), ("content-length", "3"), ("content-md5", "ICy5YqxZB1uWSwcVLSNLcA=="),
            ("content-type", "text/plain"),
        ] {
            request.headers.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        let material = try OSSSigningMaterial(
            request,
            rules: OSSSigningRules(
                .v4, region: "cn-hangzhou", additionalHeaders: [.contentDisposition, .contentLength]),
            identity: OSSSigningIdentity(accessKeyID: "ak"), date: try #require(StoreDate.parse("20250411T064124Z")))
        #expect(
            MessageAuthentication.sha256Text(try #require(material.canonicalRequest))
                == "c46d96390bdbc2d739ac9363293ae9d710b14e48081fcb22cd8ad54b63136eca")
        let printedKey = try bytes("3543b7686e65eda71e5e5ca19d548d78423c37e8ddba4dc9d83f90228b457c76")
        #expect(
            MessageAuthentication.hexadecimal(MessageAuthentication.sha256(key: printedKey, material.stringToSign))
                == "053edbf550ebd239b32a9cdfd93b0b2b3f2d223083aa61f75e9ac16856d61f23")
        let secret = Secret.secret("yourAccessKeySecret")
        #expect(
            MessageAuthentication.hexadecimal(OSSSignatureV4.signingKey(secret: secret, scope: material.scope))
                == "8a01ff4efcc65ca2cbc75375045c61ab5f3fa8b9a2d84f0add27ef16a25feb3c")
        #expect(
            material.signature(with: secret) == "d3694c2dfc5371ee6acd35e88c4871ac95a7ba01d3a2f476768fe61218590097")
    }

    private func bytes(_ hexadecimal: String) throws -> [UInt8] {
        let digits = Array(hexadecimal)
        return try stride(from: 0, to: digits.count, by: 2).map {
            try #require(UInt8(String(digits[$0...$0 + 1]), radix: 16))
        }
    }
}
