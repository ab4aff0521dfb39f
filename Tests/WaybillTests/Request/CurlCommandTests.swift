import HTTPTypes
import Testing
import Waybill
import WaybillCore

@Suite struct CurlCommandTests {
    @Test func `a form becomes -F and --form-string, with every secret redacted`() {
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

    @Test func `a secret with a file name is redacted`() {
        var part = MultipartPart.text("TOKEN", .secret("s3cr3t"))
        part.fileName = "t"
        let command = MultipartForm([part]).curlCommand(to: "http://h/")
        #expect(
            command == "curl 'http://h/' \\\n  -F 'TOKEN=\"<redacted>\";type=application/octet-stream;filename=\"t\"'")
    }

    @Test func `comments above the command list what curl can't express`() {
        let form: MultipartForm = [
            .data("d", [1, 2], fileName: "d.png"), .image("i", path: "/x.jpg", .quality(50)), .text("a=b", "1"),
            .text("nul", "\0"), .file("r", path: "/x", range: 1..<2), .text("ok", "1"),
        ]
        var odd: MultipartForm = [.file("f", path: "/front.png").followingContent()]
        odd.compatibility = .percentEncodedNames
        #expect(odd.curlCommand(to: "http://h/").split(separator: "\n").count { $0.hasPrefix("# ") } == 2)
        let lines = form.curlCommand(to: "http://h/").split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("# Part ") }.count == 5)
        #expect(lines.contains { $0.contains("-F 'd=@\"<2 bytes from memory>\";type=image/png;filename=\"d.png\"'") })
        #expect(lines.last == "  --form-string 'ok=1'")
    }

    @Test func `other contents and methods use the matching curl options`() {
        let put = UploadRequest(.put, "http://h/k", content: .file(path: "/a b.jpg", contentType: "image/jpeg"))
        #expect(
            put.curlCommand
                == "curl 'http://h/k' -X 'PUT' \\\n  -H 'Content-Type: image/jpeg' \\\n  --data-binary '@/a b.jpg'")
        #expect(UploadRequest(.get, "http://h/k").curlCommand == "curl 'http://h/k'")
        #expect(UploadRequest(.delete, "http://h/k").curlCommand == "curl 'http://h/k' -X 'DELETE'")
        let data = UploadRequest(.post, "http://h/k", content: .data([1]))
        #expect(
            data.curlCommand.hasPrefix(
                "# The content is a body of 1 bytes. Replace <body> with a file.\ncurl 'http://h/k' \\\n"))
    }
}

/// What a command must not omit, disclose or let curl misinterpret.
extension CurlCommandTests {
    private func command(_ change: (inout UploadRequest) -> Void) -> String {
        var request = UploadRequest(.post, "https://h.example/", content: .form([.text("a", "1")]))
        request.options = UploadOptions()
        change(&request)
        return request.curlCommand
    }

    @Test(
        arguments: [
            (.basic(user: "clerk", password: .secret("s3cret")), "  -u '<redacted>' \\\n"),
            (.digest(user: "clerk", password: .secret("s3cret")), "  --digest -u '<redacted>' \\\n"),
            (.bearer(.secret("s3cret")), "  -H 'Authorization: <redacted>' \\\n"),
            (.basic(user: "a:b", password: .secret("s3cret")), "  -H 'Authorization: <redacted>' \\\n"),
        ] as [(Authentication, String)])
    func `a curl command shows that credentials exist, redacted`(authentication: Authentication, line: String) {
        let command = command { $0.options?.authentication = authentication }
        #expect(command.contains(line) && !command.contains("s3cret") && !command.contains("clerk"), "\(command)")
    }

    @Test func `transport digest and refreshers appear as redacted credentials`() {
        let credential = DigestCredential(user: "u", password: .secret("p"))
        let digest = command { $0.options?.transfer.digest = credential }
        #expect(digest.contains("--digest -u '<redacted>'"))
        let refresher = BearerRefresher { BearerToken(.secret("s3cret")) }
        let refreshing = command { $0.options?.authentication = .refreshing(refresher) }
        #expect(refreshing.contains("-H 'Authorization: <redacted>'"))
    }

    @Test func `credentials in header fields of parts are redacted`() {
        let form: MultipartForm = [
            .text("a", "1").header("Authorization", "Bearer s3cret").header("Content-Language", "de")
        ]
        let command = form.curlCommand(to: "https://h.example/")
        #expect(!command.contains("s3cret"))
        #expect(command.contains("headers=\"Authorization: <redacted>\";headers=\"Content-Language: de\""))
    }

    @Test(arguments: ["https://h.example/a{b,c}", "https://h.example/a[1-3]"])
    func `a curl command disables globbing for braces and brackets in the URL`(url: String) {
        let command = ([.text("a", "1")] as MultipartForm).curlCommand(to: url)
        #expect(command.hasPrefix("curl -g '\(url)' "), "\(command)")
    }

    @Test func `an empty header field ends with a semicolon`() {
        #expect(command { $0.headers[.accept] = "" }.contains("  -H 'Accept;' "))
    }

    @Test func `a file named - is not read from standard input`() {
        let form: MultipartForm = [.file("F", path: "-")]
        #expect(form.curlCommand(to: "http://h/").contains("-F 'F=@\"./-\";"))
        let put = UploadRequest(.put, "http://h/k", content: .file(path: "-"))
        #expect(put.curlCommand.hasSuffix("--data-binary '@./-'"))
    }
}
