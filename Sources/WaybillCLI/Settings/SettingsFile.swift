/// The settings file: options by their long names, for all commands or for a single one.
///
/// ```text
/// # for every command that has it
/// cacert = /etc/ssl/bank.pem
///
/// [post]
/// retry = 3
/// header = "X-Branch: 0042"
///
/// [outbox run]
/// parallel = 4
/// ```
struct SettingsFile: Sendable, Hashable {
    struct Line: Sendable, Hashable {
        /// The command to which the line applies; empty for all commands.
        var section: String
        var name: String
        var value: String
        var number: Int
    }

    /// The path, for error messages.
    var path: String
    var lines: [Line] = []

    /// Parses the text of a file. Errors name the line and the option, but never a value, which may be secret.
    init(_ text: String, path: String) throws(CommandFailure) {
        self.path = path
        var section = ""
        for (index, raw) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = Self.trimmed(raw)
            if line.isEmpty || line.hasPrefix("#") { continue }
            if line.hasPrefix("[") {
                guard line.hasSuffix("]") else { throw problem(index + 1, "The \"]\" is missing.") }
                section = line.dropFirst().dropLast().split(separator: " ").joined(separator: " ")
                continue
            }
            guard let equals = line.firstIndex(of: "=") else {
                throw problem(index + 1, "The \"=\" is missing. Write \"name = value\", or \"name = true\" for a flag.")
            }
            let name = Self.trimmed(line[..<equals])
            lines.append(
                Line(
                    section: section, name: name.hasPrefix("--") ? String(name.dropFirst(2)) : name,
                    value: Self.removingQuotes(Self.trimmed(line[line.index(after: equals)...])), number: index + 1))
        }
    }

    /// Returns an error about a line.
    func problem(_ number: Int, _ message: String) -> CommandFailure { .usage("\(path), line \(number): \(message)") }

    /// Returns the settings file: the file that `WAYBILL_CONFIG` names (none if it is empty), otherwise
    /// `waybill/config` in the configuration directory, if it exists.
    static func find(_ environment: (String) -> String?) throws(CommandFailure) -> SettingsFile? {
        if let named = environment("WAYBILL_CONFIG") {
            guard !named.isEmpty else { return nil }
            return try SettingsFile(
                String(decoding: try InputFile.read(named, for: "WAYBILL_CONFIG"), as: UTF8.self), path: named)
        }
        let base =
            environment("XDG_CONFIG_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? environment("HOME").flatMap { $0.isEmpty ? nil : "\($0)/.config" }
        guard let base else { return nil }
        let path = "\(base)/waybill/config"
        do {
            return try SettingsFile(
                String(decoding: try InputFile.read(path, for: "Settings"), as: UTF8.self), path: path)
        } catch  where error.code == .fileNotFound {
            return nil
        }
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        let whitespace: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" || $0 == "\r\n" }
        let rest = text.drop(while: whitespace)
        guard let last = rest.lastIndex(where: { !whitespace($0) }) else { return "" }
        return String(rest[...last])
    }

    /// Removes double quotes, which preserve leading and trailing spaces of a value.
    private static func removingQuotes(_ value: String) -> String {
        value.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
            ? String(value.dropFirst().dropLast()) : value
    }
}
