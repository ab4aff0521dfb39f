import ArgumentParser
import Waybill

/// The options of a form.
struct FormOptions: ParsableArguments {
    @Option(
        name: [.customShort("F", allowingJoined: true), .customLong("form")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp("A part of the form; see above.", valueName: "name=content"))
    var form: [String] = []

    @Option(
        name: .customLong("form-string"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("A text, in which no character is special.", valueName: "name=text"))
    var formString: [String] = []

    @Option(
        name: .customLong("max-bytes"),
        help: ArgumentHelp(
            "Make the picture of a part fit: front=100KiB, or 100KiB for every JPEG. 100KB = 100,000; 100K = 100KiB = 102,400.",
            valueName: "[name=]size"))
    var maxBytes: [String] = []

    @Option(
        name: .customLong("quality"),
        help: ArgumentHelp(
            "Recompress the picture of a part, 1 to 100; with --max-bytes the finest that is used.",
            valueName: "[name=]quality"))
    var quality: [String] = []

    @Option(
        name: .customLong("min-side"),
        help: ArgumentHelp(
            "With --max-bytes, the fewest pixels of the longer side of a picture; one that can't fit then fails.",
            valueName: "[name=]pixels"))
    var minSide: [String] = []
}

/// The options of the request.
struct RequestOptions: ParsableArguments {
    @Option(
        name: [.customShort("H", allowingJoined: true), .customLong("header")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp("A header field, or @file with one a line. Never printed.", valueName: "name: value|@file"))
    var header: [String] = []

    @Option(name: [.customShort("X", allowingJoined: true), .customLong("request")], help: "The method.")
    var method = "POST"

    @Option(
        name: [.customShort("u", allowingJoined: true), .customLong("user")], parsing: .unconditional,
        help: ArgumentHelp("Credentials for Basic authentication.", valueName: "user:password"))
    var user: String?

    @Flag(name: .customLong("digest"), help: "Answer a Digest challenge with the credentials of -u.")
    var digest = false

    @Flag(name: [.customShort("k"), .customLong("insecure")], help: "Accept any certificate. For a laboratory only.")
    var insecure = false
}

/// The options of the output.
struct OutputOptions: ParsableArguments {
    @Flag(
        name: .customLong("dry-run"),
        help: "Make everything ready, images too, print what would be sent, and send nothing.")
    var isDryRun = false

    @Option(
        name: [.customShort("o", allowingJoined: true), .customLong("output")],
        help: ArgumentHelp("Write the answer to this file; with --each a pattern with {name}.", valueName: "file"),
        completion: .file())
    var output: String?

    @OptionGroup var head: HeadOptions

    @Flag(
        name: .customLong("json"), help: "One JSON object a line on standard output, the summary with the answer last.")
    var json = false

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Print the events of the transfer.")
    var verbose = false

    @Flag(
        name: [.customShort("q"), .customShort("s"), .customLong("silent")], help: "Print nothing but errors.")
    var silent = false

    @OptionGroup var progress: ProgressOptions
}

/// The options of the response head.
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

    /// Throws if the head would be mixed with other data on standard output. `output` is the argument of `-o`.
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

/// The options for sending one form per file.
struct EachOptions: ParsableArguments {
    @Option(
        name: .customLong("each"), parsing: .upToNextOption,
        help: ArgumentHelp(
            "Send the form once for each of these files, up to the next option; {} in -F stands for the file.",
            valueName: "file ..."), completion: .file())
    var files: [String] = []

    @Option(
        name: .customLong("each-from"),
        help: ArgumentHelp(
            "Send the form once for each file that this list names, one a line, after those of --each; - is standard input.",
            valueName: "list"), completion: .file())
    var list: String?

    @Flag(
        name: [.customShort("0"), .customLong("null")],
        help: "The names of --each-from end in a NUL byte, as find -print0 writes them.")
    var isNullSeparated = false

    @Option(
        name: .customLong("parallel"),
        help: ArgumentHelp("With --each, how many are sent at once. 5 unless set.", valueName: "number"))
    var parallel: Int?

    @Flag(name: .customLong("fail-early"), help: "With --each, stop at the first that fails and cancel the others.")
    var failEarly = false

    /// Whether files are given.
    var isWanted: Bool { !files.isEmpty || list != nil }

    /// Throws for options that require files.
    func checkUnused() throws(CommandFailure) {
        if isNullSeparated { throw .usage("-0 needs --each-from.") }
        if parallel != nil { throw .usage("--parallel needs --each.") }
        if failEarly { throw .usage("--fail-early needs --each.") }
    }

    /// Throws for invalid values.
    func check() throws(CommandFailure) {
        if let parallel, !(1...256).contains(parallel) {
            throw .usage("--parallel must be between 1 and 256; got \(parallel).")
        }
        guard !files.contains("-") else {
            throw .usage(
                "--each takes files. Standard input is sent with -F 'NAME=@-', and read as a list of files with --each-from -."
            )
        }
        if isNullSeparated, list == nil { throw .usage("-0 needs --each-from.") }
    }

    /// Returns the files of `--each`, followed by those of `--each-from`.
    func all() throws(CommandFailure) -> [String] {
        guard let list else { return files }
        return files + (try NameList.read(list, isNullSeparated: isNullSeparated))
    }
}
