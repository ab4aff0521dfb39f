import ArgumentParser
import TestSupport
import Testing

@testable import WaybillCLI

/// Splitting of the command line, and the arguments that ArgumentParser receives.
struct CallReaderTests {
    private func pieces(_ words: [String], of path: String = "post") throws -> [CallReader.Piece] {
        let tree = CommandTree(of: WaybillCommand.self)
        return CallReader(tree.find(path.split(separator: " ").map(String.init)).command).pieces(words)
    }

    private func call(_ words: [String], of path: String) throws -> LongCall {
        let names = path.split(separator: " ").map(String.init)
        return LongCall(try pieces(words, of: path), many: ParsedCall.many(names, of: WaybillCommand.self))
    }

    @Test(arguments: [
        (["-Fname=value"], ["--form=name=value"]), (["-F=name=value"], ["--form=name=value"]),
        (["-ks"], ["-k", "-s"]), (["-ksFa=b"], ["-k", "-s", "--form=a=b"]),
        (["-ksF", "a=b"], ["-k", "-s", "-F", "a=b"]),
        (["-HX-A: b=c"], ["--header=X-A: b=c"]), (["-m5"], ["--max-time=5"]), (["-o/tmp/x=y"], ["--output=/tmp/x=y"]),
        (["-uname:pass=word"], ["--user=name:pass=word"]), (["-0"], ["-0"]),
        (["-kZ"], ["-kZ"]), (["--no-such=1", "a"], ["--no-such=1", "a"]), (["--form", "-x"], ["--form", "-x"]),
        (["--", "-Fa=b"], ["--", "-Fa=b"]),
    ])
    func `short options are parsed as by curl`(_ words: [String], _ expected: [String]) throws {
        #expect(try pieces(words).flatMap(\.words) == expected)
    }

    @Test func `a joined -F reaches the form`() async throws {
        let run = try await Tool.run(["form", "build", "--boundary", "b", "-Fname=value"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.text.contains("name=\"name\"\r\n\r\nvalue\r\n"), "\(run.text)")
    }

    /// Bounds parsing time: the time of ArgumentParser grows with the square of the number of arguments.
    @Test(arguments: [
        ("post", ["u", "-F", "a=@{}", "--each"], [String](), 5), ("shrink", ["--max-bytes", "1K"], [], 3),
        ("put", ["-r"], ["oss://b/p/"], 2), ("outbox retry", ["--doubtful"], [], 2), ("outbox cancel", [], [], 1),
        ("outbox show", [], [], 1), ("outbox ls", ["--json"], [], 2), ("outbox pause", [], [], 1),
        ("outbox resume", [], [], 1), ("outbox verify", [], [], 1),
    ])
    func `ArgumentParser receives one of many arguments, and the command all of them`(
        _ path: String, _ head: [String], _ tail: [String], _ count: Int
    ) throws {
        let many = (1...20_000).map { "\($0)" } + tail
        let call = try call(head + many, of: path)
        #expect(call.words.count == count, "\(call.words)")
        let parsed = try WaybillCommand.parseAsRoot(path.split(separator: " ").map(String.init) + call.words)
        var command = try #require(parsed as? any TakesManyArguments)
        try command.addRemaining(of: call)
        switch command {
        case let post as PostCommand: #expect(post.each.files == many)
        case let shrink as ShrinkCommand: #expect(shrink.inputs == many)
        case let put as PutCommand: #expect(put.paths == many)
        case let retry as OutboxRetryCommand: #expect(retry.options.items.ids == Array(1...20_000))
        case let cancel as OutboxCancelCommand: #expect(cancel.options.items.ids == Array(1...20_000))
        case let show as OutboxShowCommand: #expect(show.ids == Array(1...20_000))
        case let list as OutboxListCommand: #expect(list.items.ids == Array(1...20_000))
        case let pause as OutboxPauseCommand: #expect(pause.options.items.ids == Array(1...20_000))
        case let resume as OutboxResumeCommand: #expect(resume.options.items.ids == Array(1...20_000))
        case let verify as OutboxVerifyCommand: #expect(verify.options.items.ids == Array(1...20_000))
        default: Issue.record("no such command: \(type(of: command))")
        }
    }

    @Test func `many -F, -H and --form-string options keep their order`() throws {
        var words = ["u"]
        for number in 1...5_000 {
            words += number % 3 == 0 ? ["--form-string", "l\(number)=x"] : ["-Fn\(number)=x"]
            words += ["-H", "X-\(number): y"]
        }
        let call = try call(words, of: "post")
        #expect(call.words.count == 6, "\(call.words.prefix(10))")
        var command = try #require(try WaybillCommand.parseAsRoot(["post"] + call.words) as? PostCommand)
        try command.addRemaining(of: call)
        #expect(command.request.header.count == 5_000 && command.request.header.last == "X-5000: y")
        let names = try FormAssembly.arguments(command.form, inOrderOf: ["post"] + words).map(\.name)
        #expect(names == (1...5_000).map { $0 % 3 == 0 ? "l\($0)" : "n\($0)" })
    }

    @Test func `a word among many numbers is refused`() throws {
        let call = try call(["1", "2", "x"], of: "outbox retry")
        var command = try #require(
            try WaybillCommand.parseAsRoot(["outbox", "retry"] + call.words) as? OutboxRetryCommand)
        let failure = #expect(throws: CommandFailure.self) { try command.addRemaining(of: call) }
        #expect(failure?.exit == .usage && failure?.message.contains("\"x\"") == true)
    }
}
