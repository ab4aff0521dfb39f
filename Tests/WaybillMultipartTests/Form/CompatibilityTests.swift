import Testing
import WaybillMultipart

@Suite struct CompatibilityTests {
    /// Returns the `Content-Disposition` of a part.
    func disposition(_ name: String, _ fileName: String?, _ compatibility: MultipartCompatibility) async throws
        -> String
    {
        var form: MultipartForm = [.data(name, [], fileName: fileName)]
        form.compatibility = compatibility
        let bytes = try await allBytes(of: form.prepared(boundary: MultipartBoundary("golden")))
        let start = "--golden\r\nContent-Disposition: form-data; ".utf8.count
        let rest = bytes[start...]
        return String(decoding: rest[..<rest.firstIndex(of: 13)!], as: UTF8.self)
    }

    static let plain = ["a", "a b;c=d'e", "front-1.jpg"]

    @Test(
        arguments: plain,
        [.standard, .backslashEscapes, .extendedFileNames, .percentEncodedNames] as [MultipartCompatibility])
    func `plain names have the same bytes in all profiles`(name: String, compatibility: MultipartCompatibility)
        async throws
    {
        #expect(try await disposition(name, name, compatibility) == "name=\"\(name)\"; filename=\"\(name)\"")
    }

    @Test func `the standard profile escapes exactly what the WHATWG escapes`() async throws {
        let text = try await disposition("a\"\\%\nb", "c\"\\%22\n.jpg", .standard)
        #expect(text == "name=\"a%22\\%%0D%0Ab\"; filename=\"c%22\\%22%0A.jpg\"")
    }

    @Test func `the backslash profile escapes quotes, backslashes and line breaks`()
        async throws
    {
        let text = try await disposition("a\"\\%\nb", "身\"\\\r\nX: y.jpg", .backslashEscapes)
        #expect(text == "name=\"a\\\"\\\\%%0D%0Ab\"; filename=\"身\\\"\\\\%0D%0AX: y.jpg\"")
    }

    @Test func `the RFC 5987 parameter follows a file name that is not plain`() async throws {
        let text = try await disposition("名", "a 身*'%.jpg", .extendedFileNames)
        #expect(text == "name=\"名\"; filename=\"a 身*'%.jpg\"; filename*=UTF-8''a%20%E8%BA%AB%2A%27%25.jpg")
        #expect(try await disposition("a", "q\"\n", .extendedFileNames).hasSuffix("; filename*=UTF-8''q%22%0A"))
        #expect(try await disposition("a", nil, .extendedFileNames) == "name=\"a\"")
    }

    @Test func `the percent profile leaves only plain ASCII in both names`() async throws {
        let text = try await disposition("名\"\t", "50%\\🙂.jpg", .percentEncodedNames)
        #expect(text == "name=\"%E5%90%8D%22%09\"; filename=\"50%25%5C%F0%9F%99%82.jpg\"")
    }

    @Test func `no profile lets a name inject a header`() async throws {
        for profile in [.standard, .backslashEscapes, .extendedFileNames, .percentEncodedNames]
            as [MultipartCompatibility]
        {
            let text = try await disposition(
                "a\r\nX-Evil: 1\r\n\r\nb", "\r\n--golden--\r\n".replacing("golden", with: "gold"), profile)
            #expect(
                !text.contains("\n")
                    && text.hasPrefix("name=\"a%0D%0AX-Evil: 1%0D%0A%0D%0Ab\"; filename=\"%0D%0A--gold--"))
        }
    }
}
