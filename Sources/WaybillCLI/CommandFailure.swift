/// Why the command could not do what was asked, and how it ends.
struct CommandFailure: Error, Sendable, Hashable {
    /// A kind of failure, as `--json` names it.
    struct Code: Sendable, Hashable, CustomStringConvertible {
        let description: String
        init(_ name: String) { description = name }

        /// An argument can't be used.
        static let usage = Code("usage")
        /// A file that is to be read can't be.
        static let fileNotReadable = Code("fileNotReadable")
        /// There is no such file.
        static let fileNotFound = Code("fileNotFound")
        /// Something lies where a file is to be made.
        static let fileExists = Code("fileExists")
        /// A file or standard output can't be written.
        static let writeFailed = Code("writeFailed")
    }

    /// What kind of failure it is.
    var code: Code
    /// How the command ends.
    var exit: Exit
    /// What went wrong, and the remedy. It never quotes what may be a secret.
    var message: String

    /// An argument that can't be used.
    static func usage(_ message: String) -> CommandFailure {
        CommandFailure(code: .usage, exit: .usage, message: message)
    }

    /// A message of a library, ended with a full stop.
    static func sentence(_ message: String) -> String { message.hasSuffix(".") ? message : message + "." }
}
