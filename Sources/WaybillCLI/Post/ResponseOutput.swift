import Glibc
import Waybill

/// The output of a response: standard output, or the file of `-o`.
///
/// A file is opened before anything is sent, so that a wrong path costs no upload; it gets its name and its bytes only
/// when a response is there.
struct ResponseOutput {
    private enum Kind {
        case standardOutput
        /// Kept in the summary of `--json`.
        case nowhere
        case newFile(OutputFile)
        /// A device or a pipe, such as `/dev/null`, with its option.
        case device(Int32, String)
    }

    private let kind: Kind
    /// One name for the file that is made, if one is.
    let place: String?

    /// Opens the argument of an option, `-o` or `-D`. With `isJSON`, standard output belongs to the JSON lines.
    init(path: String?, isJSON: Bool, option: String = "-o") throws(CommandFailure) {
        guard let path, path != "-" else {
            (kind, place) = (isJSON ? .nowhere : .standardOutput, nil)
            return
        }
        var status = stat()
        if unsafe SystemPath.with(path, { unsafe stat($0, &status) }) == 0, status.st_mode & S_IFMT != S_IFREG {
            let descriptor = unsafe SystemPath.with(path) {
                unsafe open($0, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
            }
            guard descriptor >= 0 else {
                throw .output(errno, "\(option) \(Redaction.quoted(path))", cannot: "opened")
            }
            (kind, place) = (.device(descriptor, "\(option) \(Redaction.quoted(path))"), nil)
        } else {
            (kind, place) = (.newFile(try OutputFile(path, replaces: true)), ShrinkPlan.place(of: path))
        }
    }

    private static let remedy = "Save it with -o FILE, or send it through a pipe."

    /// Delivers a response, after its head if that is wanted: byte for byte, but escaped where a terminal shows it.
    func write(_ bytes: [UInt8], after head: ResponseHead? = nil) throws(CommandFailure) {
        switch kind {
        case .nowhere: break
        case .standardOutput:
            if let head { try StandardOutput.write(head.bytes(forTerminal: isatty(STDOUT_FILENO) == 1)) }
            try StandardOutput.write(ForeignText.bytes(bytes, for: STDOUT_FILENO, remedy: Self.remedy))
        case .newFile(let file): try file.commit((head?.bytes(forTerminal: false) ?? []) + bytes)
        case .device(let descriptor, let name):
            let code = Output.write(
                (head?.bytes(forTerminal: isatty(descriptor) == 1) ?? [])
                    + ForeignText.bytes(bytes, for: descriptor, remedy: Self.remedy), to: descriptor)
            close(descriptor)
            guard code == 0 else { throw .output(code, name, cannot: "written") }
        }
    }
}

/// The outputs of a response: of its body, and of its head with `-D`.
struct ResponseOutputs {
    private let body: ResponseOutput
    private let head: ResponseOutput?
    private let includesHead: Bool

    /// Opens both files, so that a wrong path costs no upload.
    init(_ output: OutputOptions) throws(CommandFailure) {
        try output.head.check(output: output.output, isJSON: output.json, isEach: false)
        body = try ResponseOutput(path: output.output, isJSON: output.json)
        head = try output.head.dump.map { (path) throws(CommandFailure) in
            try ResponseOutput(path: path, isJSON: false, option: "-D")
        }
        includesHead = output.head.isIncluded
        if let place = body.place, place == head?.place {
            throw .usage("-o and -D: both name \(Redaction.quoted(output.output ?? "")). Choose two files.")
        }
    }

    /// Writes a response. The head is written first: it is small, and remains if the body can't be written.
    func write(_ body: [UInt8], head: ResponseHead) throws(CommandFailure) {
        try self.head?.write([], after: head)
        try self.body.write(body, after: includesHead ? head : nil)
    }
}
