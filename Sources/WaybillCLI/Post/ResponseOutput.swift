import WaybillCore
import Glibc
import Waybill

/// The output of a response: standard output, or the file of `-o`.
///
/// A file is opened before anything is sent, so that an invalid path is reported before an upload. It receives its name
/// and its content only when a response has arrived.
struct ResponseOutput {
    private enum Kind {
        case standardOutput
        /// No output: the summary of `--json` contains the response.
        case omitted
        case newFile(OutputFile)
        /// A device or a pipe, such as `/dev/null`, with the option that names it.
        case device(Int32, String)
    }

    private let kind: Kind
    /// The canonical path of the file to create, if any.
    let canonicalPath: String?

    /// Opens the argument of an option, `-o` or `-D`. With `isJSON`, standard output is reserved for JSON lines.
    init(path: String?, isJSON: Bool, option: String = "-o") throws(CommandFailure) {
        guard let path, path != "-" else {
            (kind, canonicalPath) = (isJSON ? .omitted : .standardOutput, nil)
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
            (kind, canonicalPath) = (.device(descriptor, "\(option) \(Redaction.quoted(path))"), nil)
        } else {
            (kind, canonicalPath) = (.newFile(try OutputFile(path, replaces: true)), ShrinkPlan.canonicalPath(of: path))
        }
    }

    private static let remedy = "Save it with -o FILE, or use a pipe."

    /// Writes a response, after its head if given: byte for byte, but escaped for a terminal.
    func write(_ bytes: [UInt8], after head: ResponseHead? = nil) throws(CommandFailure) {
        switch kind {
        case .omitted: break
        case .standardOutput:
            if let head { try StandardOutput.write(head.bytes(forTerminal: isatty(STDOUT_FILENO) == 1)) }
            try StandardOutput.write(UntrustedText.bytes(bytes, for: STDOUT_FILENO, remedy: Self.remedy))
        case .newFile(let file): try file.commit((head?.bytes(forTerminal: false) ?? []) + bytes)
        case .device(let descriptor, let name):
            let code = Output.write(
                (head?.bytes(forTerminal: isatty(descriptor) == 1) ?? [])
                    + UntrustedText.bytes(bytes, for: descriptor, remedy: Self.remedy), to: descriptor)
            close(descriptor)
            guard code == 0 else { throw .output(code, name, cannot: "written") }
        }
    }
}

/// The outputs of a response: for its body, and for its head with `-D`.
struct ResponseOutputs {
    private let body: ResponseOutput
    private let head: ResponseOutput?
    private let includesHead: Bool

    /// Opens both files, so that an invalid path is reported before an upload.
    init(_ output: OutputOptions) throws(CommandFailure) {
        try output.head.check(output: output.output, isJSON: output.json, isEach: false)
        body = try ResponseOutput(path: output.output, isJSON: output.json)
        head = try output.head.dump.map { (path) throws(CommandFailure) in
            try ResponseOutput(path: path, isJSON: false, option: "-D")
        }
        includesHead = output.head.isIncluded
        if let path = body.canonicalPath, path == head?.canonicalPath {
            throw .usage("-o and -D both name \(Redaction.quoted(output.output ?? "")). Choose different files.")
        }
    }

    /// Writes a response. The head is written first: it is small, and is kept if the body can't be written.
    func write(_ body: [UInt8], head: ResponseHead) throws(CommandFailure) {
        try self.head?.write([], after: head)
        try self.body.write(body, after: includesHead ? head : nil)
    }
}
