import Glibc
import Waybill

/// A file that appears whole or not at all.
///
/// Its bytes go to a file without a name (`O_TMPFILE`), which the system takes away if the process ends early; where the
/// file system has none of these, to one with a name of its own. ``commit()`` gives it its place.
final class NewFile {
    private let path: String
    private let replaces: Bool
    private let descriptor: Int32
    private var temporaryPath: String?

    /// Opens a file for this path. With `replaces` it takes the place of what is there; a link is replaced, not followed.
    ///
    /// With `isNamed`, the bytes go to a file with a name from the start, as where the file system has no others.
    init(
        _ path: String, replaces: Bool, mode: mode_t = 0o600, isNamed: Bool = false
    ) throws(CommandFailure) {
        self.path = path
        self.replaces = replaces
        if !replaces, Self.exists(path) { throw Self.exists(at: path) }
        let folder = Self.folder(of: path)
        var descriptor: Int32 = -1
        errno = EOPNOTSUPP
        if !isNamed {
            descriptor = unsafe SystemPath.with(folder) {
                unsafe open($0, O_WRONLY | O_CLOEXEC | Self.withoutName, mode)
            }
        }
        if descriptor < 0, errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT {
            let temporary = Self.temporaryName(beside: path)
            descriptor = unsafe SystemPath.with(temporary) {
                unsafe open($0, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
            }
            if descriptor >= 0 { temporaryPath = temporary }
        }
        guard descriptor >= 0 else { throw Self.failure(path, "made", errno) }
        self.descriptor = descriptor
        // The umask has no say: what was asked for is private already, or the mode of the original.
        fchmod(descriptor, mode)
    }

    deinit {
        close(descriptor)
        if let temporaryPath { unsafe _ = SystemPath.with(temporaryPath) { unsafe unlink($0) } }
    }

    /// Writes some bytes; the file is not in its place yet.
    func append(_ bytes: [UInt8]) throws(CommandFailure) {
        let code = Output.write(bytes, to: descriptor)
        guard code == 0 else { throw Self.failure(path, "written", code) }
    }

    /// Writes the last bytes and puts the file in its place.
    func commit(_ bytes: [UInt8] = []) throws(CommandFailure) {
        try append(bytes)
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw Self.failure(path, "written", errno) }
        if replaces {
            let temporary = try name(Self.temporaryName(beside: path))
            let code = unsafe SystemPath.with(temporary) { from in
                unsafe SystemPath.with(path) { unsafe rename(from, $0) }
            }
            guard code == 0 else { throw Self.failure(path, "put in its place", errno) }
            temporaryPath = nil
        } else {
            // A link is made only where nothing is: nobody's file is lost to a race.
            let code = linkTo(path)
            if code == EEXIST { throw Self.exists(at: path) }
            guard code == 0 else { throw Self.failure(path, "put in its place", code) }
        }
    }

    /// Gives the file a name of its own, if it has none.
    private func name(_ name: String) throws(CommandFailure) -> String {
        if let temporaryPath { return temporaryPath }
        let code = linkTo(name)
        guard code == 0 else { throw Self.failure(path, "put in its place", code) }
        temporaryPath = name
        return name
    }

    private func linkTo(_ place: String) -> Int32 {
        let source = temporaryPath ?? "/proc/self/fd/\(descriptor)"
        let code = unsafe SystemPath.with(source) { from in
            unsafe SystemPath.with(place) { unsafe linkat(AT_FDCWD, from, AT_FDCWD, $0, AT_SYMLINK_FOLLOW) }
        }
        return code == 0 ? 0 : errno
    }

    /// `O_TMPFILE`, which glibc shows only with _GNU_SOURCE: a bit of its own (`asm-generic/fcntl.h`) and O_DIRECTORY.
    private static let withoutName: Int32 = 0o20000000 | O_DIRECTORY

    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe SystemPath.with(path) { unsafe lstat($0, &status) } == 0
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func temporaryName(beside path: String) -> String {
        "\(folder(of: path))/.waybill-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    }

    private static func exists(at path: String) -> CommandFailure {
        CommandFailure(
            code: .fileExists, exit: .usage,
            message: "\"\(Redaction.escaped(path))\" is there already. Choose another name, or say --force.")
    }

    private static func failure(_ path: String, _ verb: String, _ number: Int32) -> CommandFailure {
        CommandFailure(
            code: .writeFailed, exit: .fatal,
            message: "\"\(Redaction.escaped(path))\" can't be \(verb): \(SystemText.of(number)).")
    }
}
