import ArgumentParser
import Glibc
import TestSupport
import Testing

@testable import WaybillCLI

/// Settings are defaults: no option in a settings file makes a call fail that is valid without it.
@Suite(.timeLimit(.minutes(5 * Slowness.factor))) struct SettingsRuleTests {
    /// Valid calls of a command, and the checks that they remain valid. All files of the calls exist.
    private struct Scene {
        let folder: TemporaryDirectory
        let tree: CommandTree

        init() throws {
            folder = try TemporaryDirectory()
            tree = CommandTree(of: WaybillCommand.self)
            for name in ["card.jpg", "plain.bin", "b.bin"] { try folder.write(name, "bytes") }
        }

        var posts: [[String]] {
            let post = ["post", "https://backend.example/form"]
            return [
                post + ["-F", "a=1"],
                post + ["-F", "f=@\(folder.path("plain.bin"))", "-4", "-o", folder.path("answer")],
                post + ["-F", "f=@\(folder.path("card.jpg"))", "--max-bytes", "10K", "-x", "http://proxy.example:1"],
                post + ["-F", "f=@{}", "--each", folder.path("plain.bin"), folder.path("b.bin")],
                post + ["-F", "a=1", "--queue"],
                post + ["-F", "f=@{}", "--queue", "--each", folder.path("plain.bin"), folder.path("b.bin")],
            ]
        }

        var puts: [[String]] {
            let file = folder.path("plain.bin")
            return [
                ["put", file, "https://bucket.example/key?Expires=4000000000&OSSAccessKeyId=a&Signature=b"],
                ["put", file, "oss://cards/key", "--region", "cn-hangzhou"],
                ["put", file, "oss://cards/key", "--endpoint", "https://oss-cn-hangzhou.aliyuncs.com"],
                ["put", "-r", folder.path(""), "oss://cards/under/", "--region", "cn-hangzhou"],
                ["put", file, "s3://cards/key", "--region", "eu-west-1"],
                ["put", file, "s3://cards/key", "--profile", "r2", "--endpoint", "https://s3.example"],
                ["put", file, "qiniu://cards/key"], ["put", file, "tus+https://files.example/uploads"],
            ]
        }

        /// Returns the arguments of a call with a setting merged in. The setting itself is valid.
        func merged(_ words: [String], _ setting: String) throws -> [String] {
            let settings = Settings(
                tree: tree, environment: { _ in nil }, file: try SettingsFile(setting, path: "config"))
            return try settings.merged(words)
        }

        /// Returns the options that a command takes from settings.
        func options(of path: String) -> [CommandTree.Option] {
            let command = tree.leaves.first { $0.path == path }
            return (command?.settings ?? []).filter { !OptionRule.isPerCall($0.longNames[0], in: path) }
        }

        func line(_ option: CommandTree.Option, _ path: String) throws -> String {
            let name = option.longNames[0]
            if option.isFlag { return "\(name) = true\n" }
            return "\(name) = \(try #require(Self.value(name, path, folder), "no value for --\(name)"))\n"
        }

        private static func value(_ name: String, _ path: String, _ folder: TemporaryDirectory) -> String? {
            switch (name, path) {
            case ("credential", "outbox run"): "backend=@\(folder.path("secret"))"
            case ("quality", _): "60"
            case ("max-bytes", "shrink"): "100KiB"
            case ("content-type", "form parse"): "multipart/form-data; boundary=b"
            case ("cacert", _), ("cert", _), ("key", _): folder.path("card.jpg")
            case ("outbox", _), ("records", _): folder.path(name)
            default: values[name]
            }
        }

        private static let values = [
            "form": "FILE=@{}", "form-string": "a=b", "max-bytes": "front=100KiB", "parallel": "3",
            "header": "X-Auth-Token: abc",
            "request": "PUT", "user": "me:secret", "proxy": "http://other.example:8080",
            "resolve": "a.example:443:127.0.0.1",
            "proxy-user": "me:secret", "noproxy": "a.example", "cert-type": "P12", "pass": "secret",
            "pinnedpubkey": "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "unix-socket": "/run/backend",
            "limit-rate": "200K", "connect-timeout": "5", "stall-timeout": "5", "response-timeout": "5",
            "max-time": "60", "max-filesize": "5M", "redirect": "get", "resumable": "auto", "progress-interval": "10s",
            "retry": "3", "idempotency": "honoured", "idempotency-window": "12h", "on-unknown": "retry",
            "if-changed": "restart", "priority": "low", "batch": "today", "tag": "till-4", "duplicates": "replace",
            "dedupe-for": "1d", "delay": "30s", "deadline": "2d", "attempts": "5", "credential": "X-Token=backend",
            "include": "*.jpg",
            "exclude": "*.tmp",
            "endpoint": "https://oss-cn-beijing.aliyuncs.com", "up-host": "https://up.example", "region": "cn-beijing",
            "sign-version": "v1", "part-size": "200KiB", "parts-at-once": "3", "content-type": "image/jpeg",
            "meta": "branch=42", "profile": "b2", "rs-host": "https://rs.example", "checksum": "md5",
            "acl": "private", "storage-class": "IA", "per-lane": "2", "drain": "30s", "on-end": "cat",
            "max-pixels": "2.4MP",
            "max-side": "1600", "min-side": "600",
            "mode": "fast", "boundary": "golden", "max-parts": "50", "max-field": "2MiB", "max-total": "2GiB",
        ]
    }

    /// Selects which pairs of an option and a call are checked: a random eighth in each run, because parsing a call
    /// takes a tenth of a second in a debug build. `WAYBILL_TORTURE=1` checks all.
    private struct Some {
        private var random = SeededGenerator()
        private let isAll = unsafe getenv("WAYBILL_TORTURE") != nil

        mutating func next() async -> Bool {
            // Lets other tests run in between.
            await Task.yield()
            return isAll || Int.random(in: 0..<8, using: &random) == 0
        }
    }

    private func check(post words: [String]) throws {
        let command = try #require(try WaybillCommand.parseAsRoot(words) as? PostCommand)
        if command.queue.isEnabled {
            _ = try PostQueue(command, arguments: words)
        } else {
            try command.queue.checkUnused()
            if command.each.isEnabled {
                _ = try EachPlan(command, arguments: words)
            } else {
                try command.each.checkUnused()
                _ = try PostPlan(command, arguments: words)
            }
        }
    }

    @Test func `every option of post in the settings leaves valid calls valid`() async throws {
        let scene = try Scene()
        let options = scene.options(of: "post")
        #expect(options.count > 40)
        // An omitted setting leaves the call unchanged, and most settings have the same effect in either section.
        var checked: Set<[String]> = []
        var some = Some()
        for option in options {
            let line = try scene.line(option, "post")
            for call in scene.posts {
                guard await some.next() else { continue }
                for setting in [line, "[post]\n" + line] {
                    let words = try scene.merged(call, setting)
                    guard checked.insert(words).inserted else { continue }
                    #expect(throws: Never.self, "\(line)\(words)") { try check(post: words) }
                }
            }
        }
    }

    /// Runs all checks of a put that precede the lookup of a key.
    private func check(put words: [String]) throws {
        let command = try #require(try WaybillCommand.parseAsRoot(words) as? PutCommand)
        let destination = try PutDestination(try #require(command.paths.last))
        try PutOptionTable.check(command, for: destination.store)
        let files = try PutPlan.scan(Array(command.paths.dropLast()), to: destination, command.files).files
        if command.queue.isEnabled { try command.checkQueueable() } else { try command.queue.checkUnused() }
        switch (destination, command.queue.isEnabled) {
        case (.presigned(let url), true): _ = try command.presignedEntries(url, files, Console())
        case (.oss(let bucket, _), true): _ = try command.ossEntries(bucket: bucket, files)
        case (.qiniu(let bucket, _), true): _ = try command.qiniuEntries(bucket: bucket, files)
        case (.tus(let url), true): _ = try command.tusEntries(url, files)
        case (.s3, true): Issue.record("The outbox does not deliver to S3.")
        case (.presigned, false), (.oss, false), (.s3, false), (.tus, false):
            _ = try PutPlan(command, console: Console())
        case (.qiniu, false):
            _ = try QiniuTarget.configuration(command, command.uploadOptions().0)
            #expect(!command.request.insecure)
        }
    }

    @Test func `every option of put in the settings leaves valid calls valid, queued or not`() async throws {
        let scene = try Scene()
        let options = scene.options(of: "put")
        #expect(options.count > 40)
        var checked: Set<[String]> = []
        var some = Some()
        for option in options {
            let line = try scene.line(option, "put")
            for call in scene.puts.flatMap({ call in
                // The outbox does not deliver to S3.
                call[2].hasPrefix("s3://") ? [call] : [call, call + ["--queue"]]
            }) {
                guard await some.next() else { continue }
                let words = try scene.merged(call, "[put]\n" + line)
                guard checked.insert(words).inserted else { continue }
                #expect(throws: Never.self, "\(line)\(words)") { try check(put: words) }
            }
        }
    }

    @Test func `every option of other commands in the settings leaves a valid call valid`() async throws {
        let scene = try Scene()
        let calls: [(String, [String])] = [
            ("shrink", ["card.jpg", "--max-bytes", "10K"]), ("shrink", ["-", "--max-side", "100"]),
            ("form build", ["-F", "a=1"]), ("form parse", ["--content-type", "multipart/form-data; boundary=b"]),
            ("outbox run", ["-4"]), ("outbox ls", []), ("outbox ls", ["--all"]), ("outbox show", ["1"]),
            ("outbox watch", []), ("outbox pause", ["--all"]), ("outbox resume", ["--all"]),
            ("outbox cancel", ["--all"]), ("outbox retry", ["--all"]), ("outbox verify", ["--all"]), ("outbox ack", []),
            ("outbox lanes", []), ("outbox rate", ["h:80", "1/1m"]), ("outbox limit", ["h:80", "4"]),
            ("outbox purge", []), ("outbox backup", ["copy"]),
            ("outbox check", []), ("doctor", []), ("doctor", ["s3://cards"]), ("manual", []),
        ]
        for path in scene.tree.leaves.map(\.path) {
            #expect(["post", "put"].contains(path) || calls.contains { $0.0 == path }, "\(path) has no call here")
        }
        var some = Some()
        for (path, words) in calls {
            for option in scene.options(of: path) {
                guard await some.next() else { continue }
                let line = try scene.line(option, path)
                let merged = try scene.merged(path.split(separator: " ").map(String.init) + words, line)
                let command = try WaybillCommand.parseAsRoot(merged)
                if let list = command as? OutboxListCommand { _ = try list.items.selection() }
                if let build = command as? FormBuildCommand { _ = try FormAssembly(build.form, arguments: merged) }
                if path == "shrink" { #expect(!merged.contains("--json") || words[0] != "-", "\(merged)") }
                if path == "doctor" { #expect(words.isEmpty == (merged.count == 1) || option.longNames == ["json"]) }
                if path == "outbox run" { #expect(!merged.contains("--ipv6"), "\(merged)") }
            }
        }
    }

    @Test func `WAYBILL_OUTBOX does not affect a plain post`() async throws {
        let folder = try TemporaryDirectory()
        let server = try LoopbackServer(otherwise: .respond(200, body: "ok"))
        let run = try await Tool.run(
            ["post", server.url(), "-F", "a=1"], environment: ["WAYBILL_OUTBOX": folder.path("outbox")])
        #expect(run.exit == .status(0) && run.text == "ok", "\(run.errorText)")
    }

    @Test func `settings can depend on each other, and the nearest of two exclusive ones wins`()
        throws
    {
        let scene = try Scene()
        let digest = try scene.merged(["post", "u", "-F", "a=1"], "digest = true\nuser = me:secret\n")
        #expect(digest.contains("--digest") && digest.contains("--user=me:secret"))
        let family = try scene.merged(["post", "u", "-F", "a=1"], "ipv4 = true\n[post]\nipv6 = true\n")
        #expect(family.contains("--ipv6") && !family.contains("--ipv4"))
        let window = "[post]\nidempotency-window = 12h\nidempotency = honoured\n"
        #expect(try scene.merged(["post", "u", "--queue"], window).count == 5)
        #expect(try scene.merged(["post", "u", "--queue", "--idempotency", "ignored"], window).count == 5)
    }

    @Test func `secrets of one certificate or proxy are not used with another`() throws {
        let scene = try Scene()
        let file = "cert = a.pem\nkey = a.key\npass = secret\nproxy = http://a.example:1\nproxy-user = me:secret\n"
        let all = try scene.merged(["post", "u"], file)
        #expect(all.count == 7)
        #expect(try scene.merged(["post", "u", "-E", "b.pem", "-x", "http://b.example:1"], file).count == 6)
    }

    @Test(arguments: [
        "each = a.jpg", "queue = true", "output = x", "dump-header = x", "[post]\ninclude = true",
        "[outbox cancel]\nbatch = today", "all = true",
    ])
    func `an option that belongs to one call is refused in settings`(file: String) throws {
        let scene = try Scene()
        let error = #expect(throws: CommandFailure.self) { try scene.merged(["post", "u", "-F", "a=1"], file) }
        #expect(error?.message.contains("can't be a setting, because it belongs to a single call") == true)
    }

    @Test func `a malformed value in the settings is still reported by the command`() throws {
        let scene = try Scene()
        for line in ["retry = 5000", "header = no colon", "form = nothing", "connect-timeout = soon"] {
            let words = try scene.merged(["post", "https://backend.example/", "-F", "a=1"], line)
            #expect(throws: CommandFailure.self, "\(line)") { try check(post: words) }
        }
    }
}
