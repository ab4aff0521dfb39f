import Waybill

/// The path of an output file: `{name}` is replaced by the input's name without directory and extension, and `{folder}`
/// by its directory. All other text is literal.
struct OutputPattern: Sendable, Hashable {
    let text: String

    /// Returns the default output next to the original: `cards/front.jpeg` becomes `cards/front-waybill.jpg`.
    static func defaultPath(for input: String) -> String {
        let (folder, name) = parts(of: input)
        return "\(folder)\(name)-waybill.jpg"
    }

    /// Whether the output depends on the input's name.
    var hasPlaceholder: Bool { text.contains(Self.name) }

    /// Returns the output path for an input. The input's name is never interpreted as a pattern.
    func path(for input: String) -> String {
        let (folder, name) = Self.parts(of: input)
        // The pattern provides the slash.
        let directory = folder == "/" ? "" : folder.isEmpty ? "." : String(folder.dropLast())
        var path = ""
        var rest = text[...]
        while !rest.isEmpty {
            if rest.hasPrefix(Self.name) {
                path += name
                rest = rest.dropFirst(Self.name.count)
            } else if rest.hasPrefix(Self.folder) {
                path += directory
                rest = rest.dropFirst(Self.folder.count)
            } else {
                path.append(rest.removeFirst())
            }
        }
        return path
    }

    private static let name = "{name}"
    private static let folder = "{folder}"

    /// Returns the directory with its trailing slash, and the name without its extension.
    private static func parts(of path: String) -> (folder: Substring, name: Substring) {
        let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] } ?? path[...]
        let stem = name.lastIndex(of: ".").flatMap { $0 > name.startIndex ? name[..<$0] : nil } ?? name
        return (path[..<name.startIndex], stem)
    }
}

/// A path or file name of `-F` with `--each`: `{}` is replaced by the path of the file, `{name}` and `{folder}` as in
/// an ``OutputPattern``. The path of the file is never interpreted as a pattern.
struct EachPattern: Sendable, Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    /// Whether it contains a placeholder.
    var hasPlaceholder: Bool { [Self.path, "{name}", "{folder}"].contains { text.contains($0) } }

    /// Returns the text for a file.
    func expanded(for file: String) -> String {
        text.split(separator: Self.path, omittingEmptySubsequences: false)
            .map { OutputPattern(text: String($0)).path(for: file) }
            .joined(separator: file)
    }

    private static let path: String = "{}"

    /// Throws if an argument contains a pattern although there are no files of `--each`.
    static func rejectPlaceholders(in arguments: [FormArgument]) throws(CommandFailure) {
        for argument in arguments where argument.patterns.contains(where: \.hasPlaceholder) {
            throw .usage(
                "-F \(Redaction.quoted(argument.name)): {}, {name} and {folder} require --each. "
                    + "Send a file whose own name contains them with -F 'NAME=@{}' --each FILE.")
        }
    }
}

extension FormArgument {
    /// The paths and file names of the argument, which may contain patterns. Text values are sent unchanged.
    var patterns: [EachPattern] {
        let names = fileName.map { [EachPattern($0)] } ?? []
        switch source {
        case .literal, .environment, .credential: return names
        case .textFile(let path): return [EachPattern(path)] + names
        case .files(let files):
            return files.flatMap { file in [file.path, file.fileName].compactMap { $0.map(EachPattern.init) } }
        }
    }

    /// Whether the argument sends a file of `--each`, or a file whose path is derived from it.
    var sendsEach: Bool {
        guard case .files(let files) = source else { return false }
        return files.contains { EachPattern($0.path).hasPlaceholder }
    }

    /// Returns the argument with its patterns filled in for a file.
    func expanded(for path: String) -> FormArgument {
        var argument = self
        argument.fileName = fileName.map { EachPattern($0).expanded(for: path) }
        if case .files(let files) = source {
            argument.source = .files(
                files.map { file in
                    var file = file
                    file.path = EachPattern(file.path).expanded(for: path)
                    file.fileName = file.fileName.map { EachPattern($0).expanded(for: path) }
                    return file
                })
        }
        return argument
    }
}
