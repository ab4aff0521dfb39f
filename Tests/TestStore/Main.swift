import FoundationEssentials
import Glibc
import TestSupport

/// A store of the test ground as a program of its own, for what is driven from other languages.
///
///     TestStore oss --account ak:sk --account id:secret:token --region cn-hangzhou
///     TestStore qiniu --account ak:sk
///
/// It prints a line of JSON with its port, answers each line `state` on its standard input with a line of JSON, and ends
/// with its standard input.
@main struct TestStore {
    private struct Ready: Encodable {
        let port: Int
    }

    static func main() throws {
        let options = Array(CommandLine.arguments.dropFirst(2))
        switch CommandLine.arguments.dropFirst().first {
        case "oss": try OSSProgram(options).run()
        case "qiniu": try QiniuProgram(options).run()
        default: throw UsageError(text: "what kind of store? There are: oss, qiniu")
        }
    }

    /// Prints a line of JSON.
    static func say(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        print(String(decoding: try encoder.encode(value), as: UTF8.self))
        fflush(nil)
    }

    /// Says where the store is, and what it knows whenever it is asked.
    static func serve(port: Int, state: () throws -> Void) throws {
        try say(Ready(port: port))
        while let line = readLine() {
            guard line == "state" else { throw UsageError(text: "not a request: \(line)") }
            try state()
        }
    }
}

/// A command line that was not understood.
struct UsageError: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
}
