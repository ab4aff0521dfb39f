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
        help: ArgumentHelp("A text, sent unchanged: no character is special.", valueName: "name=text"))
    var formString: [String] = []

    @Option(
        name: .customLong("max-bytes"),
        help: ArgumentHelp(
            "Compress the image of a part to a limit: front=100KiB, or 100KiB for every JPEG. "
                + "100KB = 100,000; 100K = 100KiB = 102,400.",
            valueName: "[name=]size"))
    var maxBytes: [String] = []

    @Option(
        name: .customLong("quality"),
        help: ArgumentHelp(
            "Recompress the image of a part, 1 to 100; with --max-bytes the maximum quality.",
            valueName: "[name=]quality"))
    var quality: [String] = []

    @Option(
        name: .customLong("min-side"),
        help: ArgumentHelp(
            "With --max-bytes, the minimum length of an image's longer side in pixels; an image that can't be "
                + "compressed that far fails.",
            valueName: "[name=]pixels"))
    var minSide: [String] = []

    @Flag(
        name: .customLong("heic"),
        help: "With --max-bytes or --quality, accept HEIC photos. heif-convert decodes them in a confined process.")
    var decodesHEIC = false
}

/// The options of the request.
struct RequestOptions: ParsableArguments {
    @Option(
        name: [.customShort("H", allowingJoined: true), .customLong("header")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp("A header field, or @file with one per line. Never printed.", valueName: "name: value|@file")
    )
    var header: [String] = []

    @Option(name: [.customShort("X", allowingJoined: true), .customLong("request")], help: "The method.")
    var method = "POST"

    @Option(
        name: [.customShort("u", allowingJoined: true), .customLong("user")], parsing: .unconditional,
        help: ArgumentHelp("Credentials for Basic authentication.", valueName: "user:password"))
    var user: String?

    @Flag(name: .customLong("digest"), help: "Use HTTP Digest authentication with the credentials of -u.")
    var digest = false

    @Flag(
        name: [.customShort("k"), .customLong("insecure")], help: "Accept any certificate. For test environments only.")
    var insecure = false

    @Option(
        name: .customLong("resumable"),
        help: ArgumentHelp(
            "Send the form so that it continues after an interruption: auto, if the server supports it, or draft. Also "
                + "when the command is run again.", valueName: "auto|draft"))
    var resumable: String?

    /// Returns the options of a resumable upload, or `nil`.
    func resumeOptions() throws(CommandFailure) -> ResumeOptions? {
        switch resumable {
        case nil: return nil
        case "auto": return ResumeOptions(.automatic)
        case "draft": return ResumeOptions(.draft)
        case let other?:
            throw .usage("--resumable must be auto or draft; got \(Redaction.quoted(other)).")
        }
    }
}

/// The options of the output.
struct OutputOptions: ParsableArguments {
    @Flag(
        name: .customLong("dry-run"),
        help: "Prepare everything, including images, and print what would be sent. Send nothing.")
    var isDryRun = false

    @Option(
        name: [.customShort("o", allowingJoined: true), .customLong("output")],
        help: ArgumentHelp("Write the response to this file; with --each, a pattern with {name}.", valueName: "file"),
        completion: .file())
    var output: String?

    @OptionGroup var head: HeadOptions

    @Flag(
        name: .customLong("json"),
        help: "Print one JSON object per line on standard output, the summary with the response last.")
    var json = false

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Print the events of the transfer.")
    var verbose = false

    @Flag(
        name: [.customShort("q"), .customShort("s"), .customLong("silent")], help: "Print only errors.")
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
            "Write status line and header fields of the response to this file; - is standard output. "
                + "With --each, a pattern with {name}.", valueName: "file"), completion: .file())
    var dump: String?

    /// Throws if the head would be mixed with other data on standard output. `output` is the argument of `-o`.
    func check(output: String?, isJSON: Bool, isEach: Bool) throws(CommandFailure) {
        let isPrinted = output == nil || output == "-"
        if isJSON, isIncluded && isPrinted || dump == "-" {
            throw .usage(
                "\(isIncluded && isPrinted ? "-i" : "-D"): with --json, standard output contains the JSON lines, "
                    + "and the summary contains the header fields. Name a file, or leave it out.")
        }
        if isEach, isIncluded, output == nil {
            throw .usage(
                "-i with --each requires -o 'PATTERN', because responses are not printed. Add it, or use -D 'PATTERN'.")
        }
        if isEach, dump == "-" { throw .usage("-D with --each requires a pattern, as in -D 'responses/{name}.txt'.") }
    }
}

/// The options for sending one form per file.
struct EachOptions: ParsableArguments {
    @Option(
        name: .customLong("each"), parsing: .upToNextOption,
        help: ArgumentHelp(
            "Send the form once for each of these files, up to the next option; {} in -F is replaced by the file.",
            valueName: "file ..."), completion: .file())
    var files: [String] = []

    @Option(
        name: .customLong("each-from"),
        help: ArgumentHelp(
            "Send the form once for each file in this list, one per line, after those of --each; - is standard input.",
            valueName: "list"), completion: .file())
    var list: String?

    @Flag(
        name: [.customShort("0"), .customLong("null")],
        help: "The names in --each-from are terminated by NUL bytes, as written by find -print0.")
    var isNullSeparated = false

    @Option(
        name: .customLong("parallel"),
        help: ArgumentHelp("With --each, the maximum number of concurrent uploads. Default: 5.", valueName: "number"))
    var parallel: Int?

    @Flag(name: .customLong("fail-early"), help: "With --each, stop at the first failure and cancel the other uploads.")
    var failEarly = false

    /// Whether files are given.
    var isEnabled: Bool { !files.isEmpty || list != nil }

    /// Throws for options that require files.
    func checkUnused() throws(CommandFailure) {
        if isNullSeparated { throw .usage("-0 requires --each-from.") }
        if parallel != nil { throw .usage("--parallel requires --each.") }
        if failEarly { throw .usage("--fail-early requires --each.") }
    }

    /// Throws for invalid values.
    func check() throws(CommandFailure) {
        if let parallel, !(1...256).contains(parallel) {
            throw .usage("--parallel must be between 1 and 256; got \(parallel).")
        }
        guard !files.contains("-") else {
            throw .usage(
                "--each can't read standard input. Send it with -F 'NAME=@-', or read a list of files from it with "
                    + "--each-from -."
            )
        }
        if isNullSeparated, list == nil { throw .usage("-0 requires --each-from.") }
    }

    /// Returns the files of `--each`, followed by those of `--each-from`.
    func all() throws(CommandFailure) -> [String] {
        guard let list else { return files }
        return files + (try NameList.read(list, isNullSeparated: isNullSeparated))
    }
}
