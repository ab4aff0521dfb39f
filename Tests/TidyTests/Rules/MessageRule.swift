/// Reports messages that name API: a user of the command-line tool cannot follow such advice. Advice that names an
/// option belongs in the table of `Remedy`, which has one wording for programs and one for the shell.
enum MessageRule {
    /// The only file that may name options of the API.
    static let table = "Sources/WaybillCore/Remedy.swift"

    /// Checks every string of the sources that contains a space. `wireNames` are protocol names that look like API
    /// names.
    static func findings(in file: TextFile, wireNames: Set<String>) -> [Finding] {
        guard let target = file.target, file.isSwift, target != "WaybillTesting", file.path != table else { return [] }
        return strings(of: file).compactMap { line, text in
            let isSentence = text.contains(" ") && !text.contains(/^(?:SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA)\b/)
            guard isSentence, let word = apiWord(in: text, wireNames) else { return nil }
            return Finding(file.path, line, "a message names \(word): move the advice to Remedy, or reword it")
        }
    }

    /// Returns the strings that consist of a single name: JSON members and protocol parameters.
    static func wireNames(in files: [TextFile]) -> Set<String> {
        Set(files.flatMap { strings(of: $0).map(\.text).filter { $0.wholeMatch(of: /[a-z]\w*/) != nil } })
    }

    private static func apiWord(in text: String, _ wireNames: Set<String>) -> Substring? {
        let shorthand = text.firstMatch(of: /(?:^|[\s(])(\.[a-z]\w+)(?![\w.\/-])/)?.1
        let member = text.firstMatch(of: /\b(?:[A-Z]\w*|limits|tls|proxyTLS|options|transfer|redirects)\.[a-z]\w*/)?.0
        let name = text.matches(of: /\b[a-z]{2,}[0-9]*[A-Z](?:[a-z]|[A-Z]{2})\w*/).map(\.0).first {
            !wireNames.contains(String($0))
        }
        return shorthand ?? member ?? name ?? text.firstMatch(of: /`[\w.]+`/)?.0
    }

    /// Returns the single-line strings with their line numbers, without interpolations.
    private static func strings(of file: TextFile) -> [(line: Int, text: String)] {
        let (code, text) = (Array(file.code.utf8), Array(file.text.utf8))
        guard code.count == text.count else { return [] }
        var found: [(Int, String)] = []
        var (line, start) = (1, -1)
        var index = 0
        while index < code.count {
            if code[index] == newline {
                (line, start) = (line + 1, -1)
            } else if code[index] == quote {
                if code[index...].starts(with: [quote, quote, quote]) {
                    // Multi-line strings are help texts of the command.
                    index += 3
                    while index < code.count, !code[index...].starts(with: [quote, quote, quote]) {
                        if code[index] == newline { line += 1 }
                        index += 1
                    }
                    index += 3
                    continue
                }
                if start < 0 {
                    start = index + 1
                } else {
                    found.append((line, withoutInterpolations(text[start..<index])))
                    start = -1
                }
            }
            index += 1
        }
        return found
    }

    private static func withoutInterpolations(_ bytes: ArraySlice<UInt8>) -> String {
        var (kept, depth) = ([UInt8](), 0)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if depth == 0, bytes[index...].starts(with: [backslash, UInt8(ascii: "(")]) {
                // An interpolation is a value, not part of the adjacent word.
                kept.append(UInt8(ascii: "-"))
                depth = 1
                index += 2
                continue
            }
            if depth == 0, bytes[index] == backslash {
                // A letter after a backslash belongs to the escape, not to a word; an escaped quote is a quote.
                let isQuote = bytes[index...].starts(with: [backslash, quote])
                kept.append(isQuote ? quote : UInt8(ascii: " "))
                index += 1
            } else if depth == 0 {
                kept.append(bytes[index])
            } else if bytes[index] == UInt8(ascii: "(") {
                depth += 1
            } else if bytes[index] == UInt8(ascii: ")") {
                depth -= 1
            }
            index += 1
        }
        return String(decoding: kept, as: UTF8.self)
    }
}

private let newline = UInt8(ascii: "\n")
private let quote = UInt8(ascii: "\"")
private let backslash = UInt8(ascii: "\\")
