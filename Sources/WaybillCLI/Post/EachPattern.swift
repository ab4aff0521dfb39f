import Waybill

/// A path or a file name of `-F` under `--each`: `{}` stands for the path of the file, `{name}` and `{folder}` for what they
/// mean in an ``OutputPattern``. What the path of a file holds is never read as a pattern.
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

    /// Says that a pattern stands where there are no files to fill it.
    static func refuse(in arguments: [FormArgument]) throws(CommandFailure) {
        for argument in arguments where argument.patterns.contains(where: \.isOpen) {
            throw .usage(
                "-F \"\(Redaction.escaped(argument.name))\": {}, {name} and {folder} stand for a file of --each, and none "
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
