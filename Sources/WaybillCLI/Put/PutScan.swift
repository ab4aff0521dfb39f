import WaybillCore
import Glibc
import Waybill

/// Collects the files to send and their keys.
///
/// Links inside directories are not followed, so that no file outside the directory is sent. They are counted, as are
/// FIFOs, devices and sockets. Files are sorted by the bytes of their keys.
struct PutScan: Sendable {
    private(set) var files: [PutFile] = []
    private(set) var skippedLinks = 0
    private(set) var skippedOthers = 0
    private let filter: PutFilter

    init(filter: PutFilter) { self.filter = filter }

    /// Adds a file from the command line.
    mutating func add(file path: String, key: String) throws(CommandFailure) {
        let status = try Self.status(of: path, followsLinks: true)
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw .usage("\(Redaction.quoted(path)) is a directory. Send its files with -r.")
        }
        if status.st_mode & S_IFMT == S_IFIFO {
            files.append(PutFile(path: path, key: key, size: 0, isPipe: true))
            return
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure(
                code: CommandFailure.Code("notARegularFile"), exit: .source,
                message: "\(Redaction.quoted(path)) is not a regular file.")
        }
        files.append(PutFile(path: path, key: key, size: Int64(status.st_size)))
    }

    /// Adds standard input.
    mutating func addStandardInput(key: String) {
        files.append(PutFile(path: "-", key: key, size: 0, isPipe: true))
    }

    /// Copies pipes to files, except in a dry run.
    mutating func copyPipes(isDryRun: Bool) async throws(CommandFailure) {
        files = try await files.withCopiesOfPipes(isDryRun: isDryRun)
    }

    /// Returns whether a path is a directory. A link to a directory is rejected, because `-r` does not follow links.
    static func isDirectory(_ path: String) throws(CommandFailure) -> Bool {
        let status = try status(of: path, followsLinks: false)
        guard status.st_mode & S_IFMT == S_IFLNK else { return status.st_mode & S_IFMT == S_IFDIR }
        guard try Self.status(of: path, followsLinks: true).st_mode & S_IFMT != S_IFDIR else {
            throw .usage(
                "\(Redaction.quoted(path)) is a link to a directory, which -r does not follow. "
                    + "Name the directory itself."
            )
        }
        return false
    }

    /// Adds all files in a directory, with keys that start with a prefix.
    mutating func add(directory path: String, prefix: String) throws(CommandFailure) {
        var waiting = [(path: path, relative: "")]
        var found: [PutFile] = []
        while let parent = waiting.popLast() {
            for name in try Self.names(in: parent.path) {
                let relative = parent.relative.isEmpty ? name : "\(parent.relative)/\(name)"
                let child = parent.path.hasSuffix("/") ? "\(parent.path)\(name)" : "\(parent.path)/\(name)"
                let status = try Self.status(of: child, followsLinks: false)
                switch status.st_mode & S_IFMT {
                case S_IFDIR:
                    if !filter.excludes(relative) { waiting.append((child, relative)) }
                case S_IFREG:
                    guard filter.accepts(relative) else { continue }
                    found.append(PutFile(path: child, key: prefix + relative, size: Int64(status.st_size)))
                case S_IFLNK: skippedLinks += 1
                default: skippedOthers += 1
                }
            }
        }
        files += found.sorted { Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8)) }
    }

    /// A line about the skipped files, or `nil` if none were skipped.
    var skippedLine: String? {
        let counts = [(skippedLinks, "link", "links"), (skippedOthers, "special file", "special files")]
        let texts = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.0 == 1 ? $0.1 : $0.2)" }
        return texts.isEmpty ? nil : "skipped: \(texts.joined(separator: ", "))"
    }

    private static func status(of path: String, followsLinks: Bool) throws(CommandFailure) -> stat {
        var status = stat()
        let code = unsafe SystemPath.with(path) { unsafe followsLinks ? stat($0, &status) : lstat($0, &status) }
        guard code == 0 else {
            throw .source(errno, Redaction.quoted(path), cannot: "sent")
        }
        return status
    }

    private static func names(in path: String) throws(CommandFailure) -> [String] {
        guard let directory = unsafe SystemPath.with(path, { unsafe opendir($0) }) else {
            throw .source(errno, "The directory \(Redaction.quoted(path))", cannot: "read")
        }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let bytes = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { unsafe Array($0.prefix { $0 != 0 }) }
            let name = SystemPath.text(of: bytes)
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}

/// Selects files of a directory: those that match an `--include`, if there is one, and no `--exclude`.
struct PutFilter: Sendable, Hashable {
    var includes: [String] = []
    var excludes: [String] = []

    func accepts(_ relative: String) -> Bool {
        guard !excludes(relative) else { return false }
        return includes.isEmpty || includes.contains { Self.matches($0, relative) }
    }

    /// Returns whether a file, or a directory with all its files, is excluded.
    func excludes(_ relative: String) -> Bool { excludes.contains { Self.matches($0, relative) } }

    /// Matches a pattern with a slash against the path below the directory, and any other against the last component.
    private static func matches(_ pattern: String, _ relative: String) -> Bool {
        let text =
            pattern.utf8.contains(UInt8(ascii: "/"))
            ? relative
            : relative.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? relative
        return unsafe SystemPath.with(pattern) { pattern in
            unsafe SystemPath.with(text) { unsafe fnmatch(pattern, $0, 0) } == 0
        }
    }
}
