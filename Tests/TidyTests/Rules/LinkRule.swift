/// Every link in a Markdown file resolves to a file of the checkout and, with a fragment, to an existing heading. Web
/// links are not checked, because tests need no network. `doc:` links are reported: they are dead where a forge
/// renders the page. `Scripts/docs` generates them from links to files.
enum LinkRule {
    static func findings(in file: TextFile, checkout: (paths: Set<String>, text: (String) -> String?)) -> [Finding] {
        guard file.isMarkdown else { return [] }
        return prose(file.text).enumerated().flatMap { index, line in
            links(in: line).compactMap { link in
                problem(about: link, from: file, checkout: checkout).map { Finding(file.path, index + 1, $0) }
            }
        }
    }

    /// Returns the targets of `[text](target)` and `<doc:target>`.
    static func links(in line: String) -> [String] {
        line.matches(of: /\]\(\s*<?([^)\s>]+)>?[^)]*\)|<(doc:[^>]*)>/).map { String($0.1 ?? $0.2 ?? "") }
    }

    private static func problem(
        about link: String, from file: TextFile, checkout: (paths: Set<String>, text: (String) -> String?)
    ) -> String? {
        if link.hasPrefix("doc:") { return "\(link): forges can't resolve DocC links: link to the file" }
        if link.contains(/^[a-z][a-z0-9+.-]*:/) { return nil }
        let halves = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let path = halves[0].isEmpty ? file.path : resolve(halves[0], from: file.path)
        guard let path, path.isEmpty || checkout.paths.contains(path) else { return "\(link): no such file" }
        guard halves.count == 2, path.hasSuffix(".md"), let text = checkout.text(path) else { return nil }
        return anchors(of: text).contains(halves[1]) ? nil : "\(link): no such heading"
    }

    /// Returns the path from the root of the checkout, or `nil` if the link leaves it.
    static func resolve(_ link: String, from path: String) -> String? {
        var steps = link.hasPrefix("/") ? [] : Array(path.split(separator: "/").dropLast())
        for step in link.split(separator: "/") where step != "." {
            if step == ".." {
                guard !steps.isEmpty else { return nil }
                steps.removeLast()
            } else {
                steps.append(step)
            }
        }
        return steps.joined(separator: "/")
    }

    /// Returns the anchors that GitHub generates from the headings: lower case, punctuation dropped, spaces as
    /// hyphens, repeats numbered.
    static func anchors(of text: String) -> Set<String> {
        var anchors = Set<String>()
        for line in prose(text, keepingCode: true) {
            guard let heading = line.wholeMatch(of: /#{1,6}\s+(.+?)\s*#*\s*/)?.1 else { continue }
            let plain = heading.lowercased().replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.1 }
            let slug = String(plain.filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }).replacing(
                " ", with: "-")
            var name = slug
            var count = 0
            while !anchors.insert(name).inserted {
                count += 1
                name = "\(slug)-\(count)"
            }
        }
        return anchors
    }

    /// Returns the lines outside fenced blocks, without inline code unless `keepingCode` is set. Fenced lines are
    /// returned empty to preserve line numbers.
    static func prose(_ text: String, keepingCode: Bool = false) -> [String] {
        var fence: Substring?
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { (line: Substring) -> String in
            let start = line.drop { $0 == " " }
            if let open = fence {
                if start.hasPrefix(open) { fence = nil }
                return ""
            }
            if let mark = start.firstMatch(of: /^(?:`{3,}|~{3,})/) {
                fence = mark.0
                return ""
            }
            return keepingCode ? String(line) : String(line).replacing(/`[^`]*`/, with: "")
        }
    }
}
