/// A parser of the configuration files that Amazon's tools share.
///
/// A file has sections of settings, `name = value`. A comment is a line that starts with `#` or `;`, or the rest of a
/// line after a space and one of them. An indented line continues a value, or is a nested setting.
struct AWSProfileParser {
    /// The type of a file.
    enum Format: Sendable, CaseIterable { case config, credentials }

    /// The reason why a line is rejected.
    private struct ParseError: Error { var reason: String }

    private var sections: [String: [String: String]] = [:]
    private var section: String?
    /// The last setting of the section, which an indented line continues.
    private var setting: String?

    /// Returns the settings of each profile in a file, by their names in lower case. Profiles are the sections `[name]`
    /// of a credentials file; of a config file, `[profile name]`, and `[default]` unless there is `[profile default]`.
    ///
    /// - Throws: ``StoreError/Code/credentialsMalformed`` with the number of the line, but never its content.
    static func profiles(
        in bytes: [UInt8], _ format: Format, path: String
    ) throws(StoreError) -> [String: [String: String]] {
        var parser = AWSProfileParser()
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            do throws(ParseError) {
                guard let text = String(validating: line, as: UTF8.self) else {
                    throw ParseError(reason: "is not UTF-8")
                }
                try parser.parse(text[...])
            } catch {
                throw StoreError(
                    .credentialsMalformed,
                    "Line \(index + 1) of \(StoreError.shown(path)) \(error.reason). Correct the file.")
            }
        }
        guard format == .config else { return parser.sections }
        var profiles = parser.sections.filter { $0.key == "default" }
        for (name, settings) in parser.sections where name.hasPrefix("profile ") {
            profiles[String(name.dropFirst("profile ".count))] = settings
        }
        return profiles
    }

    private mutating func parse(_ line: Substring) throws(ParseError) {
        let content = Self.trimmed(line)
        guard let first = content.unicodeScalars.first, first != "#", first != ";" else { return }
        if first == "[", line.first == "[" { return try enterSection(content) }
        guard let section else { throw ParseError(reason: "is not in a section, such as [default]") }
        if line.unicodeScalars.first != first {
            guard let setting else { throw ParseError(reason: "is indented but continues no setting") }
            sections[section]?[setting]? += "\n\(content)"
            return
        }
        guard let equals = content.firstIndex(of: "=") else { throw ParseError(reason: "has no equals sign") }
        let name = Self.trimmed(content[..<equals]).lowercased()
        guard !name.isEmpty else { throw ParseError(reason: "has no name before the equals sign") }
        setting = name
        sections[section]?[name] = String(Self.trimmed(Self.withoutComment(content[equals...]).dropFirst()))
    }

    private mutating func enterSection(_ content: Substring) throws(ParseError) {
        guard let end = content.firstIndex(of: "]") else { throw ParseError(reason: "has no ] after the section") }
        let rest = Self.trimmed(content[end...].dropFirst()).first
        guard rest == nil || rest == "#" || rest == ";" else { throw ParseError(reason: "has text after the section") }
        let name = content[..<end].dropFirst().split { $0 == " " || $0 == "\t" }.joined(separator: " ")
        (section, setting) = (name, nil)
        sections[name] = sections[name] ?? [:]
    }

    private static func withoutComment(_ text: Substring) -> Substring {
        let starts = [" #", " ;", "\t#", "\t;"].compactMap { text.firstRange(of: $0)?.lowerBound }
        return text[..<(starts.min() ?? text.endIndex)]
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" || scalar == "\r" }

    private static func trimmed(_ text: Substring) -> Substring {
        let scalars = text.unicodeScalars.drop(while: isSpace)
        return scalars.lastIndex { !isSpace($0) }.map { Substring(scalars[...$0]) } ?? ""
    }
}
