import Glibc
import Waybill

/// Where the server's answer goes: standard output, or the file of `-o`.
///
/// A file is opened before anything is sent, so that a wrong path costs no upload; it gets its name and its bytes only
/// when an answer is there.
struct AnswerTarget {
    private enum Kind {
        case standardOutput
        /// Kept in the summary of `--json`.
        case nowhere
        case newFile(NewFile)
        /// A device or a pipe, such as `/dev/null`.
        case device(Int32, String)
    }

    private let kind: Kind

    /// Opens the argument of `-o`. With `isJSON`, standard output belongs to the JSON lines.
    init(path: String?, isJSON: Bool) throws(CommandFailure) {
        guard let path, path != "-" else {
            kind = isJSON ? .nowhere : .standardOutput
            return
        }
        var status = stat()
        if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
            guard descriptor >= 0 else {
                throw CommandFailure(
                    code: .writeFailed, exit: .fatal,
                    message: "-o \"\(Redaction.escaped(path))\" can't be opened: \(SystemText.of(errno)).")
            }
            kind = .device(descriptor, path)
        } else {
            kind = .newFile(try NewFile(path, replaces: true))
        }
    }

    /// Delivers an answer.
    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        switch kind {
        case .nowhere: break
        case .standardOutput: try StandardOutput.write(bytes)
        case .newFile(let file): try file.commit(bytes)
        case .device(let descriptor, let path):
            let code = Output.write(bytes, to: descriptor)
            close(descriptor)
            guard code == 0 else {
                throw CommandFailure(
                    code: .writeFailed, exit: .fatal,
                    message: "-o \"\(Redaction.escaped(path))\" can't be written: \(SystemText.of(code)).")
            }
        }
    }
}
