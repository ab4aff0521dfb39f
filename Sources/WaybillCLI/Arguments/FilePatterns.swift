import Waybill

/// The path of a result: `{name}` is replaced by the input's name without directory and extension, and `{folder}` by its
/// directory. Everything else is taken literally.
struct OutputPattern: Sendable, Hashable {
    let text: String

    /// Beside the original: `cards/front.jpeg` gives `cards/front-waybill.jpg`.
    static func beside(_ input: String) -> String {
        let (folder, name) = parts(of: input)
        return "\(folder)\(name)-waybill.jpg"
    }

    /// Whether different inputs can have different outputs.
    var isOpen: Bool { text.contains(Self.name) }

    /// The output for an input. What an input's name holds is never read as a pattern.
    func path(for input: String) -> String {
        let (folder, name) = Self.parts(of: input)
        // The slash comes from the pattern.
        let place = folder == "/" ? "" : folder.isEmpty ? "." : String(folder.dropLast())
        var path = ""
        var rest = text[...]
        while !rest.isEmpty {
            if rest.hasPrefix(Self.name) {
                path += name
                rest = rest.dropFirst(Self.name.count)
            } else if rest.hasPrefix(Self.folder) {
                path += place
                rest = rest.dropFirst(Self.folder.count)
            } else {
                path.append(rest.removeFirst())
            }
        }
        return path
    }

    private static let name = "{name}"
    private static let folder = "{folder}"

    /// The directory with its slash, and the name without its extension.
    private static func parts(of path: String) -> (folder: Substring, name: Substring) {
        let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] } ?? path[...]
        let stem = name.lastIndex(of: ".").flatMap { $0 > name.startIndex ? name[..<$0] : nil } ?? name
        return (path[..<name.startIndex], stem)
    }
}

/// A path or a file name of `-F` with `--each`: `{}` is replaced by the path of the file, `{name}` and `{folder}` as in an
/// ``OutputPattern``. The path of a file is never read as a pattern.
struct EachPattern: Sendable, Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    /// Whether it differs from file to file.
    var isOpen: Bool { [Self.path, "{name}", "{folder}"].contains { text.contains($0) } }

    /// The text for a file.
    func filled(for file: String) -> String {
        text.split(separator: Self.path, omittingEmptySubsequences: false)
            .map { OutputPattern(text: String($0)).path(for: file) }
            .joined(separator: file)
    }

    private static let path: String = "{}"

    /// Refuses a pattern where there are no files of `--each`.
    static func refuse(in arguments: [FormArgument]) throws(CommandFailure) {
        for argument in arguments where argument.patterns.contains(where: \.isOpen) {
            throw .usage(
                "-F \(Redaction.quoted(argument.name)): {}, {name} and {folder} stand for a file of --each, and none "
                    + "is given. A file whose own name has them is sent with -F 'NAME=@{}' --each FILE.")
        }
    }
}

extension FormArgument {
    /// Where a pattern may stand: paths and file names. Texts are sent as they are.
    var patterns: [EachPattern] {
        let names = fileName.map { [EachPattern($0)] } ?? []
        switch source {
        case .literal, .environment, .credential: return names
        case .textFile(let path): return [EachPattern(path)] + names
        case .files(let files):
            return files.flatMap { file in [file.path, file.fileName].compactMap { $0.map(EachPattern.init) } }
        }
    }

    /// Whether it sends a file of `--each`, or one whose path is made of its path.
    var sendsEach: Bool {
        guard case .files(let files) = source else { return false }
        return files.contains { EachPattern($0.path).isOpen }
    }

    /// With the paths and names that belong to a file.
    func filled(for path: String) -> FormArgument {
        var argument = self
        argument.fileName = fileName.map { EachPattern($0).filled(for: path) }
        if case .files(let files) = source {
            argument.source = .files(
                files.map { file in
                    var file = file
                    file.path = EachPattern(file.path).filled(for: path)
                    file.fileName = file.fileName.map { EachPattern($0).filled(for: path) }
                    return file
                })
        }
        return argument
    }
}
