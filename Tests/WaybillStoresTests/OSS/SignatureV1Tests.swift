import FoundationEssentials
import HTTPTypes
import Testing
import WaybillCore

@testable import WaybillStores

/// Published signatures of version 1.
@Suite struct `OSS signatures of version 1` {
    struct Vector: Sendable, CustomTestStringConvertible {
        var name: String
        var pair = ("ak", "sk")
        var token: String?
        var method = HTTPRequest.Method.put
        var bucket: String?
        var key: String?
        var query: [StoreQueryItem] = []
        var headers: [(String, String)] = []
        /// Seconds since 1970: the date of a header, or the end of a presigned URL.
        var seconds: Int
        var isPresigned = false
        var signature: String
        var stringToSign: String?

        var testDescription: String { name }

        /// The request of the vector, signed by the code under test.
        func signed() throws -> OSSSignedRequest {
            var request = OSSRequestToSign(method, bucket: bucket, key: key, query: query)
            for (name, value) in headers {
                request.headers.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
            }
            let placement: OSSSigningRules.Placement = isPresigned ? .query(validFor: .seconds(60)) : .header
            let identity = OSSSigningIdentity(accessKeyID: pair.0, securityToken: token.map { .secret($0) })
            let material = try OSSSigningMaterial(
                request, rules: OSSSigningRules(.v1, placement: placement), identity: identity,
                date: Date(timeIntervalSince1970: Double(isPresigned ? seconds - 60 : seconds)))
            return material.signed(with: material.signature(with: .secret(pair.1)))
        }
    }

    static let documented = ("44CF9590006BF252F707", "OtxrzxIsfpFjA7SwPzILwy8Bw21TLhquhboDYROV")
    private static let november = 1_132_253_398
    private static let december = 1_672_223_261
    private static let date = "Wed, 28 Dec 2022 10:27:41 GMT"
    private static let common = [
        ("Content-MD5", "eB5eJF1ptWaXm4bijSPyxw=="), ("Content-Type", "text/html"), ("x-oss-meta-author", "alice"),
        ("x-oss-meta-magic", "abracadabra"), ("x-oss-date", "replaced"),
    ]

    static let header: [Vector] = [
        Vector(
            name: "H1", pair: documented, bucket: "oss-example", key: "nelson",
            headers: [
                ("Content-MD5", "ODBGOERFMDMzQTczRUY3NUE3NzA5QzdFNUYzMDQxNEM="), ("Content-Type", "text/html"),
                ("x-oss-magic", "abracadabra"), ("x-oss-meta-author", "foo@bar.com"),
            ], seconds: november, signature: "26NBxoKdsyly4EDv6inkoDft/yA="),
        Vector(
            name: "H2", bucket: "examplebucket", key: "nelson", headers: common, seconds: december,
            signature: "kSHKmLxlyEAKtZPkJhG9bZb5k7M="),
        Vector(
            name: "H3", bucket: "examplebucket", key: "nelson",
            query: [StoreQueryItem("acl"), StoreQueryItem("non-resousce", "123")], headers: common, seconds: december,
            signature: "/afkugFbmWDQ967j1vr6zygBLQk="),
        Vector(
            name: "H4", method: .get, bucket: "examplebucket",
            query: [StoreQueryItem("resourceGroup"), StoreQueryItem("non-resousce", "null")],
            headers: [("x-oss-date", "replaced")], seconds: december, signature: "vkQmfuUDyi1uDi3bKt67oemssIs="),
        Vector(
            name: "H5", method: .get, bucket: "examplebucket",
            query: [StoreQueryItem("resourceGroup"), StoreQueryItem("acl")], headers: [("x-oss-date", "replaced")],
            seconds: december, signature: "x3E5TgOvl/i7PN618s5mEvpJDYk="),
        Vector(
            name: "H6", token: "token", bucket: "examplebucket", key: "nelson", headers: common, seconds: december,
            signature: "H3PAlN3Vucn74tPVEqaQC4AnLwQ=",
            stringToSign: "PUT\neB5eJF1ptWaXm4bijSPyxw==\ntext/html\n\(date)\nx-oss-date:\(date)\n"
                + "x-oss-meta-author:alice\nx-oss-meta-magic:abracadabra\nx-oss-security-token:token\n"
                + "/examplebucket/nelson"),
        Vector(name: "H7", pair: documented, seconds: november, signature: "PPaaX3Rt4ntpD31O9aqkyCf2pd4="),
    ]

    static let presigned: [Vector] = [
        Vector(
            name: "P0", pair: documented, method: .get, bucket: "quotes", key: "nelson", seconds: 1_141_889_120,
            isPresigned: true, signature: "vjbyPxybdZaNmGa+yT272YEAiv4="),
        Vector(
            name: "P1", pair: documented, method: .get, bucket: "oss-example", key: "oss-api.pdf",
            seconds: 1_141_889_120, isPresigned: true, signature: "EwaNTn1erJGkimiJ9WmXgwnANLc="),
        Vector(
            name: "P2", method: .get, bucket: "bucket", key: "key",
            query: [StoreQueryItem("versionId", "versionId")], seconds: 1_699_807_420, isPresigned: true,
            signature: "dcLTea+Yh9ApirQ8o8dOPqtvJXQ="),
        Vector(
            name: "P3", token: "token", method: .get, bucket: "bucket", key: "key+123",
            query: [StoreQueryItem("versionId", "versionId")], seconds: 1_699_808_204, isPresigned: true,
            signature: "jzKYRrM5y6Br0dRFPaTGOsbrDhY="),
        Vector(
            name: "P4", token: "token", method: .get, bucket: "bucket", key: "key",
            query: [
                StoreQueryItem("versionId", "versionId?param1=value1"), StoreQueryItem("+param1", "value3"),
                StoreQueryItem("response-content-disposition", "attachment; filename=example.txt"),
            ], headers: [("x-oss-head1", "value"), ("content-type", "application/octet-stream")],
            seconds: 1_699_808_204, isPresigned: true, signature: "3GJoEOv5LX2ASp0HJk/hAk+qLJc="),
    ]

    @Test(arguments: header)
    func `header signatures match the published ones`(_ vector: Vector) throws {
        let signed = try vector.signed()
        #expect(signed.headers[.authorization] == "OSS \(vector.pair.0):\(vector.signature)", "\(signed.stringToSign)")
        if let text = vector.stringToSign { #expect(signed.stringToSign == text) }
        #expect(signed.canonicalRequest == nil)
        #expect(signed.query == vector.query, "nothing of a signature in the header is in the query")
    }

    @Test(arguments: presigned)
    func `query signatures match the published ones`(_ vector: Vector) throws {
        let signed = try vector.signed()
        let added = Set(signed.query).subtracting(vector.query)
        var expected: Set<StoreQueryItem> = [
            StoreQueryItem("OSSAccessKeyId", vector.pair.0), StoreQueryItem("Expires", "\(vector.seconds)"),
            StoreQueryItem("Signature", vector.signature),
        ]
        if let token = vector.token { expected.insert(StoreQueryItem("security-token", token)) }
        #expect(added == expected, "\(signed.stringToSign)")
        #expect(signed.headers[.authorization] == nil)
        #expect(signed.headers[.date] == nil)
    }

    @Test func `a presigned URL has its signature percent-encoded`() throws {
        let signed = try #require(Self.presigned.first { $0.name == "P1" }).signed()
        let text = try #require(signed.queryText)
        #expect(
            text == "OSSAccessKeyId=44CF9590006BF252F707&Expires=1141889120&Signature=EwaNTn1erJGkimiJ9WmXgwnANLc%3D")
    }

    @Test func `signing again replaces date, token and signature of the earlier attempt`() throws {
        var request = OSSRequestToSign(.put, bucket: "bucket", key: "key", query: [StoreQueryItem("uploads")])
        request.headers[.contentType] = "image/jpeg"
        let placements: [OSSSigningRules.Placement] = [.header, .query(validFor: .seconds(60))]
        for version in OSSSignatureVersion.allCases {
            for placement in placements {
                let rules = OSSSigningRules(version, region: "cn-hangzhou", placement: placement)
                func sign(_ request: OSSRequestToSign, token: String, at seconds: Double) throws -> OSSSignedRequest {
                    let material = try OSSSigningMaterial(
                        request, rules: rules,
                        identity: OSSSigningIdentity(accessKeyID: "ak", securityToken: .secret(token)),
                        date: Date(timeIntervalSince1970: seconds))
                    return material.signed(with: material.signature(with: .secret("sk")))
                }
                let first = try sign(request, token: "old", at: 1_700_000_000)
                #expect(
                    try sign(first.request, token: "new", at: 1_700_000_900)
                        == sign(request, token: "new", at: 1_700_000_900))
            }
        }
    }

    @Test func `header fields are trimmed, sorted, and joined if repeated`() throws {
        var request = OSSRequestToSign(.put, bucket: "bucket", key: "key")
        let name = try #require(HTTPField.Name("X-OSS-Meta-B"))
        request.headers.append(HTTPField(name: name, value: "  two "))
        request.headers.append(HTTPField(name: try #require(HTTPField.Name("x-oss-meta-a")), value: "one"))
        request.headers.append(HTTPField(name: name, value: "three"))
        let text = OSSSignatureV1.stringToSign(request, date: "D")
        #expect(text == "PUT\n\n\nD\nx-oss-meta-a:one\nx-oss-meta-b:two,three\n/bucket/key")
    }
}
