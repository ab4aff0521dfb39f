import Testing

@testable import WaybillStores

struct QiniuRegionTests {
    private let suffixes = ["qiniup.com", "qbox.me", "127.0.0.1"]

    private func response(_ json: String) throws(StoreError) -> QiniuRegionResponse {
        try QiniuRegionResponse(json: Array(json.utf8), suffixes: suffixes)
    }

    @Test func `hosts are listed in order, region by region`() throws {
        let response = try response(
            """
            {"hosts":[{"region":"z0","ttl":86400,"features":{"http3":{"enabled":true}},
            "up":{"acc_domains":["acc.qiniup.com"],"domains":["upload.qiniup.com","up.qiniup.com"],"old":["upload.qbox.me"]},
            "io":{"domains":["iovip.qbox.me"]},"s3":{"region_alias":"cn-east-1"}},
            {"region":"z1","ttl":100,"up":{"domains":["upload-z1.qiniup.com"]}}]}
            """)
        #expect(response.regions.map(\.name) == ["z0", "z1"])
        #expect(
            response.hosts == [
                "acc.qiniup.com", "upload.qiniup.com", "up.qiniup.com", "upload.qbox.me", "upload-z1.qiniup.com",
            ])
        #expect(response.lifetime == 100)
    }

    @Test func `hosts with untrusted suffixes are ignored`() throws {
        let response = try response(
            """
            {"hosts":[{"ttl":-5,"up":{"domains":["evil.example","qiniup.com.evil.example","notqiniup.com","UP.Qiniup.COM",
            "up.qiniup.com:8080","up.qiniup.com:0","up.qiniup.com/path","user@up.qiniup.com","","127.0.0.1:80"]}}]}
            """)
        #expect(response.hosts == ["UP.Qiniup.COM", "up.qiniup.com:8080", "127.0.0.1:80"])
        #expect(response.lifetime == 60)
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"hosts":[]}"#, #"{"hosts":[{"up":{"domains":["evil.example"]}}]}"#,
        #"{"hosts":[{"up":{}}]}"#,
        #"{"hosts":"up.qiniup.com"}"#,
    ])
    func `a response without trusted hosts is an error`(json: String) {
        let error = #expect(throws: StoreError.self) { try response(json) }
        #expect(error?.code == .regionUnknown)
    }

    @Test func `hosts of public regions are derived from their ids`() {
        #expect(QiniuRegion.z0.uploadHosts == ["upload.qiniup.com", "up.qiniup.com"])
        #expect(QiniuRegion.cnEast2.uploadHosts == ["upload-cn-east-2.qiniup.com", "up-cn-east-2.qiniup.com"])
        #expect(QiniuRegion(id: "z0") == .z0)
        for region in [QiniuRegion.z1, .z2, .na0, .as0] {
            #expect(region.uploadHosts == ["upload-\(region.name).qiniup.com", "up-\(region.name).qiniup.com"])
        }
    }

    @Test func `a route advances from host to host and from region to region`() {
        var route = QiniuRoute([["a", "b"], [], ["c"]])
        // If another upload has already moved on, nothing changes.
        let steps = [("a", true, "b"), ("a", true, "b"), ("b", true, "c"), ("c", false, "c")]
        #expect(route.host == "a")
        for (left, hasNext, now) in steps {
            let isMoved = route.advance(from: left)
            #expect(isMoved == hasNext && route.host == now)
        }
        var empty = QiniuRoute([[]])
        let isMoved = empty.advance(from: "a")
        #expect(!isMoved && empty.host == nil)
    }

    @Test func `parts stay in their region and use all its hosts`() {
        var route = QiniuRoute([["a", "b"], ["c", "d"]])
        _ = route.advance(from: "a")
        route.pin()
        #expect(route.host == "b")
        let second = route.advance(from: "b")
        #expect(second && route.host == "a")
        let third = route.advance(from: "a")
        #expect(!third)
        var chosen = QiniuRoute([["a", "b"], ["c", "d"]])
        let isKnown = chosen.choose("d")
        let isUnknown = chosen.choose("e")
        #expect(isKnown && !isUnknown && chosen.host == "d")
    }
}
