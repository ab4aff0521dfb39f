/// Where results go: a path in which `{name}` stands for the input's name without folder and ending, and `{folder}` for the
/// folder it lies in. Everything else is taken as it is written.
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

    /// The folder with its slash, and the name without its ending.
    private static func parts(of path: String) -> (folder: Substring, name: Substring) {
        let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] } ?? path[...]
        let stem = name.lastIndex(of: ".").flatMap { $0 > name.startIndex ? name[..<$0] : nil } ?? name
        return (path[..<name.startIndex], stem)
    }
}
