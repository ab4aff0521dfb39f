import FoundationEssentials
import HTTPTypes
import Testing
import WaybillCore

@testable import WaybillStores

/// The examples in Amazon's documentation of Signature Version 4 for S3, and the limits of signatures.
@Suite struct `S3 signatures` {
    struct Example: Sendable, CustomTestStringConvertible {
        var method = HTTPRequest.Method.get
        var path: String
        var query: [StoreQueryItem] = []
        var fields: [(String, String)] = []
        var body = ""
        var list: String
        var canonicalHash: String
        var signature: String

        var testDescription: String { "\(method) \(path)" }

        func request() throws -> S3RequestToSign {
            var request = S3RequestToSign(
                method, "https://examplebucket.s3.amazonaws.com\(path)", query: query,
                payloadHash: MessageAuthentication.sha256Text(body))
            for (name, value) in fields {
                let name = try #require(HTTPField.Name(name))
                request.headers.append(HTTPField(name: name, value: value))
                request.additionalHeaders.append(name)
            }
            return request
        }
    }

    static let examples = [
        Example(
            path: "/test.txt", fields: [("Range", "bytes=0-9")], list: "host;range;x-amz-content-sha256;x-amz-date",
            canonicalHash: "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972",
            signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        Example(
            method: .put, path: "/\(PercentEncoding.path("test$file.text"))",
            fields: [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
            body: "Welcome to Amazon S3.", list: "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
            canonicalHash: "9e0e90d9c76de8fa5b200d8c849cd5b8dc7a3be3951ddb7f6a76b4158342019d",
            signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
        Example(
            path: "", query: [StoreQueryItem("lifecycle")], list: "host;x-amz-content-sha256;x-amz-date",
            canonicalHash: "9766c798316ff2757b517bc739a67f6213b4ab36dd5da2f94eaebf79c77395ca",
            signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        Example(
            path: "/", query: [StoreQueryItem("prefix", "J"), StoreQueryItem("max-keys", "2")],
            list: "host;x-amz-content-sha256;x-amz-date",
            canonicalHash: "df57d21db20da04d7fa30298dd4488ba3a2b47ca3a489c74750e0f1e7df1b9b7",
            signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ]

    private static let credentials = StoreCredentials(
        accessKeyID: "AKIAIOSFODNN7EXAMPLE", accessKeySecret: .secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))
    private static let date = Date(timeIntervalSince1970: 1_369_353_600)
    private static let scope = S3SignatureV4.Scope(date: date, region: "us-east-1", product: "s3")

    @Test(arguments: examples)
    func `header signatures match the published ones`(_ example: Example) throws {
        let signed = try example.request().signed(with: Self.credentials, scope: Self.scope)
        #expect(MessageAuthentication.sha256Text(signed.canonicalRequest) == example.canonicalHash)
        #expect(
            signed.headers[.authorization]
                == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
                + "SignedHeaders=\(example.list),Signature=\(example.signature)")
    }

    @Test func `a query signature matches the published one`() throws {
        let request = S3RequestToSign(.get, "https://examplebucket.s3.amazonaws.com/test.txt")
        let upload = try request.presignedUpload(
            with: Self.credentials, region: "us-east-1", at: Self.date, validFor: .seconds(86_400))
        #expect(
            upload.url.value
                == "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400"
                + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                + "&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
        #expect(upload.expiration == Self.date + 86_400)
        #expect(upload.method == .get)
        #expect(upload.headers.isEmpty)
    }

    @Test func `a security token is signed in the header and in the query`() throws {
        var credentials = Self.credentials
        credentials.securityToken = .secret("IQoJ/+=")
        let request = S3RequestToSign(.put, "https://b.example.com/k")
        let signed = try request.signed(with: credentials, scope: Self.scope)
        #expect(signed.headers[.authorization]?.contains("x-amz-date;x-amz-security-token,") == true)
        #expect(signed.canonicalRequest.contains("\nx-amz-security-token:IQoJ/+=\n"))
        let link = try request.signed(with: credentials, scope: Self.scope, seconds: 60)
        #expect(link.query.contains(StoreQueryItem("X-Amz-Security-Token", "IQoJ/+=")))
        #expect(link.headers.isEmpty)
        #expect(link.canonicalRequest.contains("&X-Amz-Security-Token=IQoJ%2F%2B%3D&X-Amz-SignedHeaders=host\n"))
    }

    @Test func `signing again replaces date, token and signature`() throws {
        var credentials = Self.credentials
        credentials.securityToken = .secret("token")
        var request = S3RequestToSign(.put, "https://b.example.com/k")
        let before = try request.signed(with: credentials, scope: Self.scope)
        let later = S3SignatureV4.Scope(date: Self.date + 1, region: "us-east-1", product: "s3")
        let fresh = try request.signed(with: Self.credentials, scope: later)
        request.headers = before.headers
        #expect(try request.signed(with: Self.credentials, scope: later).headers == fresh.headers)
        let link = try request.signed(with: credentials, scope: Self.scope, seconds: 60)
        request = S3RequestToSign(.put, "https://b.example.com/k", query: link.query)
        #expect(try request.signed(with: Self.credentials, scope: later).query.isEmpty)
    }

    @Test(
        arguments: [
            ("https://b.example.com:443/k", "b.example.com"), ("https://b.example.com:80/k", "b.example.com:80"),
            ("http://b.example.com:80/k", "b.example.com"), ("http://127.0.0.1:9000/b/k", "127.0.0.1:9000"),
            ("http://[::1]:443/k", "[::1]:443"),
        ])
    func `the signed host has no default port`(_ location: String, _ host: String) throws {
        let signed = try S3RequestToSign(.put, location).signed(with: Self.credentials, scope: Self.scope)
        #expect(signed.canonicalRequest.contains("\nhost:\(host)\n"))
    }

    @Test func `sequences of spaces in a field are signed as one`() throws {
        var request = S3RequestToSign(.put, "https://b.example.com/k")
        request.headers[try #require(HTTPField.Name("x-amz-meta-note"))] = "  a   b c "
        let signed = try request.signed(with: Self.credentials, scope: Self.scope)
        #expect(signed.canonicalRequest.contains("\nx-amz-meta-note:a b c\n"))
    }

    @Test(
        arguments: [
            "", "b/k", "ftp://b/k", "https://", "https:///k", "https://b/k?a", "https://b/a b", "https://u@b/k",
        ])
    func `an invalid location is refused`(_ location: String) throws {
        let error = #expect(throws: StoreError.self) {
            try S3RequestToSign(.put, location).signedHeaders(with: Self.credentials, region: "us-east-1")
        }
        #expect(error?.code == .invalidEndpoint)
    }

    @Test(arguments: ["", "eu west", "a/b", "é", "\u{10}", String(repeating: "r", count: 65)])
    func `an invalid region is refused`(_ region: String) throws {
        let error = #expect(throws: StoreError.self) {
            try S3RequestToSign(.put, "https://b/k").signedHeaders(with: Self.credentials, region: region)
        }
        #expect(error?.code == .invalidRegion)
    }

    @Test func `a presigned URL is valid for one second to one week`() throws {
        let request = S3RequestToSign(.put, "https://b.example.com/k")
        for seconds in [1, 604_800] {
            let upload = try request.presignedUpload(
                with: Self.credentials, region: "auto", at: Self.date, validFor: .seconds(seconds))
            #expect(upload.expiration == Self.date + TimeInterval(seconds))
        }
        for seconds in [-1, 0, 604_801] {
            let error = #expect(throws: StoreError.self) {
                try request.presignedUpload(with: Self.credentials, region: "auto", validFor: .seconds(seconds))
            }
            #expect(error?.code == .invalidExpiration)
        }
    }

    @Test func `a description has neither values nor secrets`() throws {
        let request = S3RequestToSign(
            .put, "https://b.example.com/k", query: [StoreQueryItem("uploadId", "VXBsb2Fk")],
            headers: [.contentType: "image/png"])
        #expect("\(request)" == "PUT https://b.example.com/k?uploadId=\(Secret.placeholder)")
        var text = ""
        dump(request, to: &text)
        #expect(!text.contains("VXBsb2Fk"))
    }
}
