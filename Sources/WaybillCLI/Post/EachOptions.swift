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
        name: .customLong("parallel"),
        help: ArgumentHelp("With --each, how many are sent at once. 5 unless set.", valueName: "number"))
    var parallel: Int?

    @Flag(name: .customLong("fail-early"), help: "With --each, stop at the first that fails and cancel the others.")
    var failEarly = false

    /// Whether there are files.
    var isWanted: Bool { !files.isEmpty }

    /// Says what has no meaning without files.
    func checkUnused() throws(CommandFailure) {
        if parallel != nil { throw .usage("--parallel needs --each.") }
        if failEarly { throw .usage("--fail-early needs --each.") }
    }

    /// Says what can't be used.
    func check() throws(CommandFailure) {
        if let parallel, !(1...256).contains(parallel) {
            throw .usage("--parallel: \(parallel) is no number of uploads at once. Write 1 to 256.")
        }
        guard !files.contains("-") else { throw .usage("--each takes files; standard input is none. Leave out the -.") }
    }
}
