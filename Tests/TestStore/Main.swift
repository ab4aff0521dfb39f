import FoundationEssentials
import Glibc
import TestSupport

/// A test store as a separate program, for tests in other languages.
///
///     TestStore oss --account ak:sk --account id:secret:token --region cn-hangzhou
///     TestStore qiniu --account ak:sk
///     TestStore draft --directory DIRECTORY --interim
///
/// It prints a line of JSON with its port, responds to each line `state` on its standard input with a line of JSON,
/// and exits at the end of its standard input.
@main struct TestStore {
    private struct Ready: Encodable {
        let port: Int
    }

    static func main() throws {
        let options = Array(CommandLine.arguments.dropFirst(2))
        switch CommandLine.arguments.dropFirst().first {
        case "oss": try OSSProgram(options).run()
        case "qiniu": try QiniuProgram(options).run()
        case "draft": try DraftProgram(options).run()
        default: throw UsageError(text: "what kind of store? There are: oss, qiniu, draft")
        }
    }

    static func say(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        print(String(decoding: try encoder.encode(value), as: UTF8.self))
        fflush(nil)
    }

    /// Prints the port of the store, and its state on each request.
    static func serve(port: Int, state: () throws -> Void) throws {
        try say(Ready(port: port))
        while let line = readLine() {
            guard line == "state" else { throw UsageError(text: "not a request: \(line)") }
            try state()
        }
    }
}

/// An invalid command line.
struct UsageError: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
}
