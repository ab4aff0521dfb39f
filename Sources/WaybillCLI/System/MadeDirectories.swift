import Glibc
import Waybill

/// The directories that a run makes for its results. Those that are empty at its end are removed again.
final class MadeDirectories: Sendable {
    private let made = Locked<[String]>([])

    /// Makes the missing directories above a file, as `mkdir -p` does: the umask decides who may use them.
    func make(above path: String) throws(CommandFailure) {
        let slashes = path.utf8.indices.filter { path.utf8[$0] == UInt8(ascii: "/") && $0 != path.startIndex }
        guard let last = slashes.last, !Self.isDirectory(String(path[..<last])) else { return }
        for slash in slashes {
            let directory = String(path[..<slash])
            if unsafe mkdir(directory, 0o777) == 0 {
                made.withLock { $0.append(directory) }
            } else if errno != EEXIST {
                throw CommandFailure(
                    code: .writeFailed, exit: .fatal,
                    message: "The directory \"\(Redaction.escaped(directory))\" can't be made: \(SystemText.of(errno))."
                )
            }
        }
    }

    /// Removes those of the made directories that are empty.
    func removeEmpty() {
        for directory in made.withLock({ $0.reversed() }) { unsafe _ = rmdir(directory) }
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
