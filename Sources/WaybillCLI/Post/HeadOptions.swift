import ArgumentParser
import Waybill

/// Where the head of a response goes.
struct HeadOptions: ParsableArguments {
    @Flag(
        name: [.customShort("i"), .customLong("include")],
        help: "Write status line and header fields before the body of the response.")
    var isIncluded = false

    @Option(
        name: [.customShort("D", allowingJoined: true), .customLong("dump-header")],
        help: ArgumentHelp(
            "Write status line and header fields of the response to this file; - is standard output. With --each a pattern "
                + "with {name}.", valueName: "file"), completion: .file())
    var dump: String?

    /// Refuses what would mix the head with something else on standard output. `output` is the argument of `-o`.
    func check(output: String?, isJSON: Bool, isEach: Bool) throws(CommandFailure) {
        let isPrinted = output == nil || output == "-"
        if isJSON, isIncluded && isPrinted || dump == "-" {
            throw .usage(
                "\(isIncluded && isPrinted ? "-i" : "-D"): with --json standard output has the JSON lines, and the summary "
                    + "has the header fields. Name a file, or leave it out.")
        }
        if isEach, isIncluded, output == nil {
            throw .usage("-i needs -o 'PATTERN' with --each, which prints no responses. Or use -D 'PATTERN'.")
        }
        if isEach, dump == "-" { throw .usage("-D: with --each name a pattern, as in -D 'answers/{name}.txt'.") }
    }
}
