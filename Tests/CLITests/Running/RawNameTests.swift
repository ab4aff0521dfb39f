import Foundation
import TestSupport
import Testing

@testable import WaybillCLI

/// File names that are not UTF-8: sent unchanged, printed escaped.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct RawNameTests {
    private let folder: TemporaryDirectory
    private let server: LoopbackServer
    /// `café.jpg` in Latin-1.
    private static let name: [UInt8] = Array("caf".utf8) + [0xE9] + Array(".jpg".utf8)

    init() throws {
        folder = try TemporaryDirectory()
        server = try LoopbackServer()
    }

    /// Runs a shell command line in which `$W` is the program and `$N` the name of an existing file.
    private func shell(_ line: String, _ more: [String: String] = [:]) async throws -> ChildProcess.Finished {
        let photo = try folder.write("photo", NoisePhoto.bytes(width: 640, height: 480, seed: 5))
        let environment = Tool.environment(["W": Tool.path, "URL": server.url(), "PHOTO": photo].merging(more) { $1 })
        return try await ChildProcess.run(
            "bash", ["-c", "N=$(printf 'caf\\351.jpg'); cp \"$PHOTO\" \"$N\"; \(line)"], environment: environment,
            directory: folder.path)
    }

    private func contains(_ body: [UInt8], _ text: [UInt8]) -> Bool { body.firstRange(of: text) != nil }

    private static let parameter = Array("filename=\"".utf8) + name + Array("\"".utf8)

    @Test(arguments: [
        "$W post $URL -F \"f=@$N\"", "$W post $URL -F f=@{} --each \"$N\"",
        "printf '%s\\n' \"$N\" | $W post $URL -F f=@{} --each-from -",
        "printf '%s\\0' \"$N\" | $W post $URL -F f=@{} --each-from - -0",
        "$W post $URL -F \"f=@$N\" --max-bytes 20K", "$W post $URL -F \"f=@$PHOTO;filename=$N\"",
        "$W post $URL -F \"f=@$N\" --queue --outbox o && $W outbox run --until-idle --outbox o",
    ])
    func `the bytes of a file name are sent unchanged`(_ line: String) async throws {
        let run = try await shell(line)
        #expect(run.exit == .status(0), "\(run.errorText)")
        let body = try await server.request(0).body
        #expect(contains(body, Self.parameter), "\(String(decoding: body.prefix(200), as: UTF8.self))")
    }

    @Test func `the bytes of a text field and its name are sent unchanged`() async throws {
        let run = try await shell("$W post $URL -F \"$N=$N\" --form-string \"s=$N\"")
        #expect(run.exit == .status(0), "\(run.errorText)")
        let body = try await server.request(0).body
        let text = Array("\r\n\r\n".utf8) + Self.name + Array("\r\n".utf8)
        #expect(contains(body, Array("name=\"".utf8) + Self.name) && contains(body, Array("name=\"s\"".utf8) + text))
    }

    @Test func `messages and JSON escape invalid bytes`() async throws {
        let lines = try await shell("$W post $URL -F f=@{} --each \"$N\" \"no$N\"")
        #expect(lines.exit == .status(3))
        #expect(lines.errorText.contains("\ncaf\\xE9.jpg: 200 OK"), "\(lines.errorText)")
        #expect(lines.errorText.contains("nocaf\\xE9.jpg: fileNotFound"), "\(lines.errorText)")
        #expect(String(validating: lines.errorOutput, as: UTF8.self) != nil)
        let json = try await shell("$W post $URL -F f=@{} --json --each \"$N\"")
        #expect(try json.jsonLines().contains { $0["file"] as? String == "caf\\xE9.jpg" }, "\(json.text)")
    }

    @Test func `shrink reads and creates such names`() async throws {
        let run = try await shell("$W shrink \"$N\" --max-bytes 20K && ls | od -An -c")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(
            run.text.contains("351   -   w   a   y")
                || run.text.filter { $0 != " " && $0 != "\n" }.contains("caf351-waybill.jpg"))
        #expect(run.errorText.contains("caf\\xE9.jpg → caf\\xE9-waybill.jpg: "), "\(run.errorText)")
    }

    @Test func `put stores such a file under an explicit key and refuses its name as a key`() async throws {
        let store = try OSSStore()
        let environment = [
            "OSS_ACCESS_KEY_ID": "ak", "OSS_ACCESS_KEY_SECRET": "sk", "XDG_STATE_HOME": folder.path("state"),
            "PUT": "\(Tool.path) put --endpoint \(store.endpoint) --region cn-hangzhou --allow-http",
        ]
        let run = try await shell("$PUT \"$N\" oss://examplebucket/card.jpg", environment)
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(store.object("card.jpg") != nil)
        for line in [
            "$PUT \"$N\" oss://examplebucket/in/", "$PUT -r . oss://examplebucket/in/",
            "$PUT photo \"oss://examplebucket/$N\"",
        ] {
            let refused = try await shell(line, environment)
            #expect(refused.exit == .status(2), "\(line)")
            #expect(refused.errorText.contains("is not UTF-8"), "\(refused.errorText)")
        }
        let rest = try await shell("$PUT -r --exclude \"$N\" . oss://examplebucket/in/ --dry-run", environment)
        #expect(rest.exit == .status(0), "\(rest.errorText)")
    }

    @Test func `invalid UTF-8 is refused in URLs and headers`() async throws {
        let url = try await shell("$W post \"$URL$N\" -F a=b")
        #expect(url.exit == .status(2) && url.errorText.contains("is not UTF-8"), "\(url.errorText)")
        let header = try await shell("$W post $URL -F a=b -H \"X: $N\"")
        #expect(
            header.exit == .status(2) && header.errorText.contains("--header: the value is not UTF-8"),
            "\(header.errorText)")
    }
}
