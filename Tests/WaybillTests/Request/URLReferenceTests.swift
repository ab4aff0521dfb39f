import Testing

@testable import Waybill

@Suite struct URLReferenceTests {
    private func resolve(_ reference: String) -> String {
        URLReference(reference).resolved(against: URLReference("http://a/b/c/d;p?q")).description
    }

    @Test(arguments: [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
        (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"),
        ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
        ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
        ("../../g", "http://a/g"),
    ])
    func `resolves the normal examples of RFC 3986 section 5.4.1`(reference: String, target: String) {
        #expect(resolve(reference) == target)
    }

    @Test(arguments: [
        ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/./x", "http://a/b/c/g#s/./x"),
        ("g#s/../x", "http://a/b/c/g#s/../x"), ("http:g", "http:g"),
    ])
    func `resolves the abnormal examples of RFC 3986 section 5.4.2`(reference: String, target: String) {
        #expect(resolve(reference) == target)
    }

    @Test(arguments: [
        ("http://a", "g", "http://a/g"), ("http://a?x", "g", "http://a/g"),
        ("http://u:p@a:81/b", "/c", "http://u:p@a:81/c"),
        ("http://a/b", "1:2", "http://a/1:2"), ("http://a/b", "x/1:2", "http://a/x/1:2"),
        ("http://a/b", "//[::1]:8/c?d", "http://[::1]:8/c?d"),
    ])
    func `resolves references against other bases`(base: String, reference: String, target: String) {
        #expect(URLReference(reference).resolved(against: URLReference(base)).description == target)
    }

    @Test func `unencoded characters are percent-encoded, and percent signs are kept`() {
        #expect(URLReference(location: "/ä b%20c?d e").description == "/%C3%A4%20b%20c?d%20e")
        #expect(URLReference(location: "/a\tb").description == "/a%09b")
    }

    @Test func `user information can be removed and set`() {
        var url = URLReference("http://u:p@w@host:81/x")
        #expect(url.userInformation == "u:p@w")
        url.userInformation = nil
        #expect(url.description == "http://host:81/x")
        url.userInformation = "v"
        #expect(url.description == "http://v@host:81/x")
    }
}
