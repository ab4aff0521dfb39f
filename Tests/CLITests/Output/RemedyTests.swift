import Foundation
import TestSupport
import Testing
import WaybillCore

@testable import WaybillCLI

/// The table of remedies, and the use of its advice in messages at the shell.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct RemedyTests {
    /// Words that belong to the API: `lowerCamelCase`, `Type.member`, `.member`, `member(` and names in backticks.
    private static var api: Regex<Substring> {
        /\b[a-z]+[a-z0-9]*[A-Z]\w*|\b[A-Z]\w*\.[a-z]\w*|(?:^|[\s(])\.[a-z]\w*|\b(?:limits|tls|options|transfer)\.\w+|\w\(|`/
    }

    private static func flags(in text: String) -> [String] {
        text.matches(of: /(?:^|[\s'(])(--[a-z][a-z-]*|-[A-Za-z](?![\w-]))/).map { String($0.1) }
    }

    @Test(arguments: Remedy.allCases) func `every advised flag exists`(_ remedy: Remedy) throws {
        let known = CommandTree(of: WaybillCommand.self).leaves.flatMap(\.settings).flatMap { option in
            option.longNames.map { "--\($0)" } + option.letters.map { "-\($0)" }
        }
        for flag in Self.flags(in: remedy.shell) { #expect(known.contains(flag), "\(remedy.shell)") }
    }

    @Test(arguments: Remedy.allCases)
    func `advice is a sentence that names flags for the shell and API for programs`(
        _ remedy: Remedy
    ) {
        for text in [remedy.shell, remedy.api] {
            #expect(text.first?.isUppercase == true && text.hasSuffix("."), "\(text)")
        }
        #expect(!remedy.shell.contains(Self.api), "\(remedy.shell)")
        #expect(Self.flags(in: remedy.api).isEmpty, "\(remedy.api)")
    }

    @Test func `flags and API words are recognized`() {
        #expect(Self.flags(in: "Raise -m, or give --max-filesize '-k'.") == ["-m", "--max-filesize", "-k"])
        #expect(Self.flags(in: "cn-hangzhou and text-only").isEmpty)
        for word in ["limits.connect", "conflictPolicy", "Outbox.open", "a .spill", "call(", "`x`"] {
            #expect(word.contains(Self.api), "\(word)")
        }
    }

    @Test func `API wording is used unless a program registers the shell`() {
        #expect("\(Remedy.raiseStallLimit)" == Remedy.raiseStallLimit.api)
    }

    @Test(arguments: [
        (["post", "TLS", "-F", "a=b"], "Trust a private certificate authority with --cacert."),
        (["post", "URL", "-F", "a=b", "--max-filesize", "3"], "Raise --max-filesize if such a response is expected."),
        (["post", "URL/hang", "-F", "a=b", "--response-timeout", "0.3"], "Raise --response-timeout"),
        (["post", "URL/hang", "-F", "a=b", "-m", "0.3"], "Raise -m, or leave it out."),
        (["post", "URL", "-F", "a=b", "--unix-socket", "/s", "-x", "http://127.0.0.1:1"], "Remove one."),
        (["post", "URL", "-F", "a=b", "-U", "clerk:secret"], "Set the proxy, too."),
        (["post", "URL", "-F", "a=b", "--pinnedpubkey", "md5//x"], "Use sha256//"),
        (["put", "FILE", "oss://cards/a", "--region", "cn-hangzhou", "-k"], "with --cacert instead of -k."),
        (["put", "FILE", "qiniu://cards/a", "-k"], "with --cacert instead of -k."),
        (["put", "FILE", "oss://cards/a", "--endpoint", "http://oss.example"], "pass --allow-http if"),
        (["put", "FILE", "oss://cards/a", "--endpoint", "https://oss.example/x"], "Remove the path from --endpoint."),
        (
            ["put", "FILE", "oss://cards/a", "--endpoint", "https://oss.example", "--sign-version", "v4"],
            "Pass --region, as in --region cn-hangzhou."
        ),
        (
            ["put", "FILE", "s3://cards/a", "--profile", "r2"],
            "Pass --endpoint, as in --endpoint https://s3.example.com"
        ),
        (["put", "FILE", "s3://cards/a"], "Pass --region, as in"),
        (["put", "FILE", "s3://cards/a", "--endpoint", "http://s3.example"], "pass --allow-http if"),
        (["form", "build", "-F", "a=b", "--boundary", "ä"], "Leave --boundary out to use a random one."),
        (["post", "URL", "-F", "f=@PHOTO", "--max-bytes", "20"], "Raise --max-bytes."),
    ])
    func `a message at the shell names flags and no API`(_ arguments: [String], _ advice: String) async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("a.txt", "text")
        let photo = try folder.write("photo.jpg", NoisePhoto.bytes(width: 400, height: 320, seed: 1))
        let server = try LoopbackServer(otherwise: .respond(200, body: "more than three bytes"))
        server.route("/hang", .neverRespond)
        let front = try await TLSFront(to: server)
        let words = arguments.map { word in
            switch word {
            case "TLS": front.url()
            case "FILE": file
            case "f=@PHOTO": "f=@\(photo)"
            default: word.hasPrefix("URL") ? server.url(String(word.dropFirst(3))) : word
            }
        }
        let keys =
            ["OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET", "QINIU_ACCESS_KEY", "QINIU_SECRET_KEY"]
            + ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
        let environment = Dictionary(uniqueKeysWithValues: keys.map { ($0, "some-\($0)") })
        let run = try await Tool.run(words, environment: environment)
        #expect(run.exit != .status(0))
        let text = run.errorText
        #expect(text.contains(advice), "\(text)")
        #expect(!text.contains(/\b(?:limits|tls|options)\.|allowsUnencrypted|keepsPath|insecureSkip|`/), "\(text)")
        #expect(!text.contains(".."), "\(text)")
    }
}
