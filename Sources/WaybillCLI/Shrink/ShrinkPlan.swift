import WaybillCore
import Glibc
import Waybill

/// An image to recompress.
struct ShrinkJob: Sendable, Hashable {
    /// A path, or `-`.
    var input: String
    /// A path, or `-`.
    var output: String
}

/// All jobs of a call, checked for conflicts before the first one starts.
enum ShrinkPlan {
    /// Determines the output of each input.
    ///
    /// - Parameters:
    ///   - inputs: The paths, or only `-`.
    ///   - output: The value of `-o`.
    ///   - page: The value of `--report`.
    /// - Returns: A job for each input, in order.
    /// - Throws: ``CommandFailure`` if two files would have the same path, or a result would replace another input or,
    ///   with a page, its own.
    static func jobs(
        _ inputs: [String], output: String?, page: String?
    ) throws(CommandFailure) -> [ShrinkJob] {
        if inputs.count > 1 {
            guard !inputs.contains("-") else {
                throw .usage("Standard input can't be combined with other images. Leave them out.")
            }
            guard output != "-" else {
                throw .usage("Standard output accepts one image; got \(inputs.count). Use {name} in -o.")
            }
            if let output, !OutputPattern(text: output).hasPlaceholder {
                throw .usage(
                    "All \(inputs.count) images would be written to \(Redaction.quoted(output)). "
                        + "Write {name} for their names, as in -o 'small/{name}.jpg'.")
            }
        }
        guard page != "-" else { throw .usage("--report must name a file.") }
        let jobs = inputs.map { input in
            guard let output else {
                return ShrinkJob(input: input, output: input == "-" ? "-" : OutputPattern.defaultPath(for: input))
            }
            return ShrinkJob(input: input, output: output == "-" ? "-" : OutputPattern(text: output).path(for: input))
        }
        try check(jobs, page)
        return jobs
    }

    /// Throws if two results would have the same path, or a result would replace another input or, with a page, its
    /// own.
    static func check(_ jobs: [ShrinkJob], _ page: String?) throws(CommandFailure) {
        var sources: [String: String] = [:]
        for job in jobs where job.output != "-" {
            if let other = sources.updateValue(job.input, forKey: canonicalPath(of: job.output)) {
                throw .usage(
                    "\(Redaction.quoted(other)) and \(Redaction.quoted(job.input)) would both be written to "
                        + "\(Redaction.quoted(job.output)). Choose different names."
                )
            }
        }
        if let page {
            if let source = sources.updateValue("the report", forKey: canonicalPath(of: page)) {
                throw .usage(
                    "\(Redaction.quoted(source)) and the report would both be written to \(Redaction.quoted(page)). "
                        + "Choose different names."
                )
            }
        }
        // With `--force`, a result may replace its own input, but never an input that has not been read yet.
        for job in jobs where job.input != "-" {
            for path in Set([canonicalPath(of: job.input), resolvedPath(of: job.input)]) {
                guard let source = sources[path] else { continue }
                guard source != job.input else {
                    guard page == nil else {
                        throw .usage(
                            "--report compares \(Redaction.quoted(source)) with its result, which would replace it. "
                                + "Choose another name for the result, or leave out --report.")
                    }
                    continue
                }
                throw .usage(
                    "The result of \(Redaction.quoted(source)) would replace the input \(Redaction.quoted(job.input)). "
                        + "Choose another name."
                )
            }
        }
    }

    /// Returns a canonical path: the directory without links and dots, and the file's name.
    static func canonicalPath(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "\(resolvedPath(of: "."))/\(path)" }
        let parent = slash == path.startIndex ? "/" : String(path[..<slash])
        return "\(directory(parent))/\(path[path.utf8.index(after: slash)...])"
    }

    /// Returns a canonical path of a directory, whose last components may not exist yet.
    private static func directory(_ path: String) -> String {
        let missing = path.split(separator: "/", omittingEmptySubsequences: true)
        for count in (0...missing.count).reversed() {
            let start = missing[..<count].joined(separator: "/")
            let existing = path.hasPrefix("/") ? "/\(start)" : start.isEmpty ? "." : start
            guard let found = unsafe realpath(existing, nil) else { continue }
            defer { unsafe free(found) }
            var components = unsafe String(cString: found).split(separator: "/")
            // Components that do not exist can't be links.
            for component in missing[count...] where component != "." {
                if component == ".." { _ = components.popLast() } else { components.append(component) }
            }
            return "/" + components.joined(separator: "/")
        }
        return path
    }

    /// Returns the path with all links resolved, if it exists.
    static func resolvedPath(of path: String) -> String {
        guard let found = unsafe SystemPath.with(path, { unsafe realpath($0, nil) }) else { return path }
        defer { unsafe free(found) }
        return unsafe SystemPath.text(of: UnsafeRawBufferPointer(start: found, count: strlen(found)))
    }
}

/// The directories that a run creates for its results. Those that are empty at its end are removed.
final class CreatedDirectories: Sendable {
    private let created = Locked<[String]>([])

    /// Creates the missing directories of a path like `mkdir -p`, with permissions according to the umask.
    func createParents(of path: String) throws(CommandFailure) {
        let slashes = path.utf8.indices.filter { path.utf8[$0] == UInt8(ascii: "/") && $0 != path.startIndex }
        guard let last = slashes.last, !Self.isDirectory(String(path[..<last])) else { return }
        for slash in slashes {
            let directory = String(path[..<slash])
            if unsafe mkdir(directory, 0o777) == 0 {
                created.withLock { $0.append(directory) }
            } else if errno != EEXIST {
                throw .output(errno, "The directory \(Redaction.quoted(directory))", cannot: "created")
            }
        }
    }

    /// Removes the created directories that are empty, the deepest first: concurrent calls record them in any order.
    func removeEmpty() {
        let directories = created.withLock { $0.sorted { $0.utf8.count > $1.utf8.count } }
        for directory in directories { unsafe _ = rmdir(directory) }
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
