import Testing
import Waybill

@Suite struct CurlCommandTests {
    @Test func `a form is -F and --form-string, with every secret redacted`() {
        let form: MultipartForm = [
            .text("TOKEN", .secret("s3cr3t")), .text("NO", "it's"), .json("META", ["a": 1]),
            .file("FILE", path: "/cards/front.jpg", fileName: "IDFrontImage.jpg"),
        ]
        var request = UploadRequest(.post, "https://user:pw@h.example/u?sig=abc", content: .form(form))
        request.headers[.authorization] = "Bearer s3cr3t"
        request.headers[.accept] = "text/plain"
        #expect(
            request.curlCommand == """
                curl 'https://<redacted>@h.example/u?<redacted>' \\
                  -H 'Authorization: <redacted>' \\
                  -H 'Accept: text/plain' \\
                  --form-string 'TOKEN=<redacted>' \\
                  --form-string 'NO=it'\\''s' \\
                  -F 'META="{\\"a\\":1}";type=application/json' \\
                  -F 'FILE=@"/cards/front.jpg";type=image/jpeg;filename="IDFrontImage.jpg"'
                """)
    }

    @Test func `a secret with a file name of its own is redacted, too`() {
        var part = MultipartPart.text("TOKEN", .secret("s3cr3t"))
        part.fileName = "t"
        let command = MultipartForm([part]).curlCommand(to: "http://h/")
        #expect(
            command == "curl 'http://h/' \\\n  -F 'TOKEN=\"<redacted>\";type=application/octet-stream;filename=\"t\"'")
    }

    @Test func `what curl can't be told is said above the command`() {
        let form: MultipartForm = [
            .data("d", [1, 2], fileName: "d.png"), .image("i", path: "/x.jpg", .quality(50)), .text("a=b", "1"),
            .text("nul", "\0"), .file("r", path: "/x", range: 1..<2), .text("ok", "1"),
        ]
        var odd: MultipartForm = [.file("f", path: "/front.png").followingContent()]
        odd.compatibility = .percentEncodedNames
        #expect(odd.curlCommand(to: "http://h/").split(separator: "\n").count { $0.hasPrefix("# ") } == 2)
        let lines = form.curlCommand(to: "http://h/").split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("# part ") }.count == 5)
        #expect(lines.contains { $0.contains("-F 'd=@\"<2 bytes from memory>\";type=image/png;filename=\"d.png\"'") })
        #expect(lines.last == "  --form-string 'ok=1'")
    }

    @Test func `other contents and methods are curl's`() {
        let put = UploadRequest(.put, "http://h/k", content: .file(path: "/a b.jpg", contentType: "image/jpeg"))
        #expect(
            put.curlCommand
                == "curl 'http://h/k' -X 'PUT' \\\n  -H 'Content-Type: image/jpeg' \\\n  --data-binary '@/a b.jpg'")
        #expect(UploadRequest(.get, "http://h/k").curlCommand == "curl 'http://h/k'")
        #expect(UploadRequest(.delete, "http://h/k").curlCommand == "curl 'http://h/k' -X 'DELETE'")
        let data = UploadRequest(.post, "http://h/k", content: .data([1]))
        #expect(
            data.curlCommand.hasPrefix(
                "# the content is a body of 1 bytes: put a file in its place\ncurl 'http://h/k' \\\n"))
    }
}
