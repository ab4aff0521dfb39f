import WaybillCore
import Glibc
import Waybill

/// A file that appears only when it is complete. ``commit(_:)`` gives it its name.
final class OutputFile {
    private let path: String
    private let replaces: Bool
    private let file: AtomicFile

    /// Opens a file for a path. With `replaces`, it replaces an existing file, whose permissions it keeps; a link is
    /// replaced, not followed.
    ///
    /// With `isNamed`, it has a temporary name from the start, as on file systems that do not support unnamed files.
    init(
        _ path: String, replaces: Bool, mode: AtomicFile.Mode = .confidential, isNamed: Bool = false
    ) throws(CommandFailure) {
        self.path = path
        self.replaces = replaces
        try Self.check(path, replaces: replaces)
        file = try Self.attempt(path, "created") { () throws(SystemError) in
            try AtomicFile.make(for: path, mode: mode, replaces: replaces, isNamed: isNamed)
        }
    }

    /// Throws if the path cannot be that of a new file. Only regular files and links are replaced.
    private static func check(_ path: String, replaces: Bool) throws(CommandFailure) {
        let name = Redaction.quoted(path)
        guard let last = path.utf8.last, last != UInt8(ascii: "/") else {
            throw .usage("The output \(name) has no file name. Add one.")
        }
        switch AtomicFile.destination(path) {
        case .free: return
        case .file: guard replaces else { throw exists(at: path) }
        case .directory: throw .usage("The output \(name) is a directory. Add a file name.")
        case .special:
            throw .usage("The output \(name) is not a regular file, and is not replaced. Choose another name.")
        }
    }

    /// Writes bytes. The file does not have its final name yet.
    func append(_ bytes: [UInt8]) throws(CommandFailure) {
        try Self.attempt(path, "written") { () throws(SystemError) in try file.append(bytes) }
    }

    /// Writes the last bytes and gives the file its final name.
    func commit(_ bytes: [UInt8] = []) throws(CommandFailure) {
        try append(bytes)
        try Self.attempt(path, "written") { () throws(SystemError) in try file.synchronize() }
        try Self.attempt(path, "moved to its destination") { () throws(SystemError) in
            if replaces { try file.replace(path) } else { try file.link(to: path) }
        }
    }

    private static func attempt<Value>(
        _ path: String, _ verb: String, _ call: () throws(SystemError) -> Value
    ) throws(CommandFailure) -> Value {
        do throws(SystemError) {
            return try call()
        } catch {
            if error.number == EEXIST { throw exists(at: path) }
            throw CommandFailure(
                code: .writeFailed, exit: .fatal,
                message: "\(Redaction.quoted(path)) can't be \(verb): \(SystemText.of(error.number)).")
        }
    }

    private static func exists(at path: String) -> CommandFailure {
        CommandFailure(
            code: .fileExists, exit: .usage,
            message: "\(Redaction.quoted(path)) already exists. Choose another name, or use --force.")
    }
}
