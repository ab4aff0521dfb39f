import TestSupport
import Testing

@testable import TestSupport

/// The store accepts and rejects the same requests as the service, and its counts are reliable.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct OSSStoreTests {
    static let versions: [StoreClient.Version] = [.v1, .v4, .v1URL, .v4URL]

    @Test(arguments: versions) func `an object is put, inspected, read and deleted`(
        _ version: StoreClient.Version
    ) throws {
        let store = try OSSStore()
        let client = StoreClient(store: store, version: version)
        let path = "/a%2Bb%20%23%E7%A9%BA//..%2Fx"
        let put = try client.send(
            "PUT", path, ["Content-Type: text/plain", "x-oss-meta-author: alice"], body: Array("hello oss".utf8))
        #expect(put.status == 200, "\(put.body)")
        #expect(put.value("x-oss-hash-crc64ecma") == "15021467531229347219")
        #expect(put.value("ETag")?.count == 34)
        let head = try client.send("HEAD", path)
        #expect(head.value("Content-Length") == "9")
        #expect(head.value("x-oss-meta-author") == "alice")
        #expect(try client.send("GET", path).body == "hello oss")
        #expect(store.object("a+b #空//../x")?.content.bytes == Array("hello oss".utf8))
        #expect(try client.send("DELETE", path).status == 204)
        let gone = try client.send("HEAD", path)
        #expect(gone.status == 404)
        #expect(gone.value("x-oss-err") != nil)
        #expect(store.complaints == [])
        #expect(Set(store.state.log.map(\.signature.rawValue)).count == 1)
    }

    @Test(arguments: versions) func `a wrong secret is rejected, and the strings to sign are returned`(
        _ version: StoreClient.Version
    ) throws {
        let store = try OSSStore()
        let client = StoreClient(store: store, version: version, account: OSSAccount("ak", "other"))
        let response = try client.send("PUT", "/key", body: [1])
        #expect(response.status == 403)
        #expect(response.code == "SignatureDoesNotMatch")
        let text = StoreText.elements("StringToSign", in: response.body).first ?? ""
        #expect(text.hasPrefix(version == .v1 || version == .v1URL ? "PUT\n" : "OSS4-HMAC-SHA256\n"))
        #expect(response.body.contains("<CanonicalRequest>") == (version == .v4 || version == .v4URL))
        #expect(store.state.keys() == [])
    }

    @Test(arguments: versions) func `a token must be present, correct and not expired`(
        _ version: StoreClient.Version
    ) throws {
        var settings = OSSStoreSettings()
        settings.accounts = [
            OSSAccount("good", "sk", token: "t/+="), OSSAccount("over", "sk", token: "t", expiration: 1_000),
        ]
        let store = try OSSStore(settings)
        func code(_ account: OSSAccount) throws -> String? {
            try StoreClient(store: store, version: version, account: account).send("PUT", "/key").code
        }
        #expect(try code(OSSAccount("good", "sk", token: "t/+=")) == nil)
        #expect(try code(OSSAccount("good", "sk")) == "InvalidAccessKeyId")
        #expect(try code(OSSAccount("good", "sk", token: "u")) == "InvalidSecurityToken")
        #expect(try code(OSSAccount("over", "sk", token: "t")) == "SecurityTokenExpired")
        #expect(try code(OSSAccount("nobody", "sk")) == "InvalidAccessKeyId")
    }

    @Test func `request times are checked`() throws {
        let store = try OSSStore()
        for version in Self.versions {
            for skew in [-1_200, 1_200] {
                let client = StoreClient(store: store, version: version, skew: skew)
                let response = try client.send("PUT", "/key")
                let isLate = skew < 0 && (version == .v1URL || version == .v4URL)
                let isRefused = version == .v1 || version == .v4 || isLate || version == .v4URL
                #expect((response.status == 403) == isRefused, "\(version) \(skew) \(response.body)")
                if version == .v1 || version == .v4 {
                    #expect(response.code == "RequestTimeTooSkewed")
                    #expect(response.body.contains("<ServerTime>"))
                }
            }
        }
        var client = StoreClient(store: store, version: .v4URL)
        client.expires = 604_801
        #expect(try client.send("PUT", "/key").status == 400)
    }

    @Test func `additional signed header fields are checked`() throws {
        let store = try OSSStore()
        for version in [StoreClient.Version.v4, .v4URL] {
            let client = StoreClient(store: store, version: version, additional: ["content-disposition", "host"])
            let response = try client.send("PUT", "/key", ["Content-Disposition: attachment"])
            #expect(response.status == 200, "\(response.body)")
        }
    }

    @Test func `invalid request fields are rejected`() throws {
        let store = try OSSStore()
        store.put("there", [1])
        let client = StoreClient(store: store)
        let long = String(repeating: "k", count: 1_024)
        let rows: [(String, [String], Int, String)] = [
            ("/there", ["x-oss-forbid-overwrite: true"], 409, "FileAlreadyExists"),
            ("/new", ["x-oss-forbid-overwrite: true"], 200, ""),
            ("/a", ["x-oss-traffic-limit: 819199"], 400, "InvalidArgument"),
            ("/a", ["x-oss-traffic-limit: 819200"], 200, ""),
            ("/a?x-oss-traffic-limit=838860801", [], 400, "InvalidArgument"),
            ("/a", ["x-oss-object-acl: everybody"], 400, "InvalidArgument"),
            ("/a", ["x-oss-storage-class: Cellar"], 400, "InvalidArgument"),
            ("/a", ["Content-MD5: AAAAAAAAAAAAAAAAAAAAAA=="], 400, "InvalidDigest"),
            ("/a", ["Content-MD5: CY9rzUYh03PK3k6DJie09g=="], 400, "InvalidDigest"),
            ("/a", ["x-oss-meta-name: 空"], 400, "InvalidArgument"),
            ("/\(long)", [], 400, "InvalidObjectName"),
            ("/\(long.dropLast())", [], 200, ""),
            ("/%2Fa", [], 400, "InvalidObjectName"),
            ("/a?b=c+d", [], 400, "InvalidArgument"),
            ("/a", ["x-oss-callback: bm8="], 400, "InvalidArgument"),
        ]
        for (target, fields, status, code) in rows {
            let response: StoreClient.Response
            if target.contains("+") {
                let raw = try RawClient(port: store.port)
                try raw.send(
                    "PUT \(target) HTTP/1.1\r\nHost: b.oss.test\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                response = StoreClient.read(try raw.receive())
            } else {
                response = try client.send("PUT", target, fields)
            }
            #expect(response.status == status, "\(target) \(fields) \(response.body)")
            #expect(response.code ?? "" == code)
        }
        var other = client
        other.bucket = "-no"
        #expect(try other.send("PUT", "/a").code == "InvalidBucketName")
        var anonymous = client
        anonymous.version = .none
        #expect(try anonymous.send("PUT", "/a").code == "AccessDenied")
    }

    @Test func `objects are appended only at their end`() throws {
        let store = try OSSStore()
        let client = StoreClient(store: store)
        let first = try client.send("POST", "/log?append&position=0", body: Array("hello ".utf8))
        #expect(first.value("x-oss-next-append-position") == "6")
        let second = try client.send("POST", "/log?append&position=6", body: Array("oss".utf8))
        #expect(second.value("x-oss-hash-crc64ecma") == "15021467531229347219")
        let late = try client.send("POST", "/log?append&position=6", body: [1])
        #expect(late.code == "PositionNotEqualToLength")
        store.put("normal", [1])
        #expect(try client.send("POST", "/normal?append&position=1", body: [1]).code == "ObjectNotAppendable")
    }

    @Test func `a callback is recorded and returns the scripted response`() throws {
        let store = try OSSStore()
        let client = StoreClient(store: store)
        // {"callbackUrl":"http://h/","callbackBody":"o=${object}&s=${size}&v=${x:v}"} and {"x:v":"1 2"}
        let order =
            "eyJjYWxsYmFja1VybCI6Imh0dHA6Ly9oLyIsImNhbGxiYWNrQm9keSI6Im89JHtvYmplY3R9JnM9JHtzaXplfSZ2PSR7eDp2fSJ9"
        let response = try client.send(
            "PUT", "/k%20k", ["x-oss-callback: \(order)", "x-oss-callback-var: eyJ4OnYiOiIxIDIifQ=="], body: [1, 2])
        #expect(response.body == #"{"Status":"OK"}"#)
        #expect(response.value("x-oss-hash-crc64ecma") != nil)
        #expect(store.object("k k")?.callback == "o=k%20k&s=2&v=1%202")
        let both = try client.send("PUT", "/k?callback=\(order)", ["x-oss-callback: \(order)"])
        #expect(both.status == 400)
    }
}
