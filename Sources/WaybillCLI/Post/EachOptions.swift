import ArgumentParser
import Waybill

/// One form for each of many files.
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

    /// Whether there are files.
    var isWanted: Bool { !files.isEmpty || list != nil }

    /// Says what has no meaning without files.
    func checkUnused() throws(CommandFailure) {
        if isNullSeparated { throw .usage("-0 needs --each-from.") }
        if parallel != nil { throw .usage("--parallel needs --each.") }
        if failEarly { throw .usage("--fail-early needs --each.") }
    }

    /// Says what can't be used.
    func check() throws(CommandFailure) {
        if let parallel, !(1...256).contains(parallel) {
            throw .usage("--parallel: \(parallel) is no number of uploads at once. Write 1 to 256.")
        }
        guard !files.contains("-") else {
            throw .usage(
                "--each takes files. Standard input is sent with -F 'NAME=@-', and read as a list of files with --each-from -."
            )
        }
        if isNullSeparated, list == nil { throw .usage("-0 needs --each-from.") }
    }

    /// The files of `--each`, then those of `--each-from`.
    func all() throws(CommandFailure) -> [String] {
        guard let list else { return files }
        return files + (try NameList.read(list, isNullSeparated: isNullSeparated))
    }
}
