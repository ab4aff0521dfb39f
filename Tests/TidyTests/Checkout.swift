import Foundation

/// A text file of the checkout.
struct TextFile {
    /// The path from the root of the checkout, with slashes.
    var path: String
    var text: String
    /// The source with comments and string contents blanked out (``CodeText``); empty for files that are neither
    /// Swift nor C.
    let code: String

    init(path: String, text: String) {
        self.path = path
        self.text = text
        code = path.hasSuffix(".swift") ? CodeText.of(text, .swift) : Self.isC(path) ? CodeText.of(text, .c) : ""
    }

    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

    /// The directory directly below `Sources`, or `nil` for other files. Files of a documentation catalog are not
    /// sources.
    var target: String? {
        guard !path.contains(".docc/") else { return nil }
        let steps = path.split(separator: "/")
        guard steps.count > 2, steps[0] == "Sources" else { return nil }
        return String(steps[1])
    }

    var isSwift: Bool { path.hasSuffix(".swift") }
    var isC: Bool { Self.isC(path) }
    var isMarkdown: Bool { path.hasSuffix(".md") }

    private static func isC(_ path: String) -> Bool { path.hasSuffix(".c") || path.hasSuffix(".h") }
}

/// A violation of a rule.
struct Finding: CustomStringConvertible, Equatable {
    var path: String
    var line: Int?
    var message: String

    init(_ path: String, _ line: Int? = nil, _ message: String) {
        self.path = path
        self.line = line
        self.message = message
    }

    var description: String { path + (line.map { ":\($0)" } ?? "") + ": " + message }
}

/// The files of the checkout that these tests were compiled from.
struct Checkout {
    var files: [TextFile]
    /// Every path, including directories and files that are not text.
    var paths: Set<String>

    /// The checkout, read once for all rules. Directories that tools generate (`.build`, `.git`) are excluded, as is
    /// every other name that begins with a dot except `.ci`, `.gitignore` and `.swift-format`.
    static let here = Checkout(root: URL(filePath: #filePath).deletingLastPathComponent() / ".." / "..")

    init(root: URL) {
        files = []
        paths = []
        read(root.standardizedFileURL, as: "")
    }

    private mutating func read(_ folder: URL, as prefix: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for name in names.sorted() where !Self.isGenerated(name) {
            let path = prefix + name
            let url = folder / name
            paths.insert(path)
            guard let values = try? url.resourceValues(forKeys: [.isDirectoryKey]) else { continue }
            if values.isDirectory == true {
                read(url, as: path + "/")
            } else if Self.isText(path), let text = try? String(contentsOf: url, encoding: .utf8) {
                files.append(TextFile(path: path, text: text))
            }
        }
    }

    private static func isGenerated(_ name: String) -> Bool {
        name == "Package.resolved" || (name.hasPrefix(".") && ![".ci", ".gitignore", ".swift-format"].contains(name))
    }

    private static func isText(_ path: String) -> Bool {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return true }
        let binary = ["jpg", "jpeg", "png", "gif", "ico", "bin", "gz", "zip", "icc", "pdf", "ttf"]
        return !path.contains("/Corpus/") && !binary.contains(name[name.index(after: dot)...].lowercased())
    }
}

extension URL {
    fileprivate static func / (folder: URL, name: String) -> URL { folder.appending(path: name) }
}
