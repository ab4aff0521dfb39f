/// Messages that name the API: at a shell they would be advice that can't be followed. What names an option belongs to the
/// table of `Remedy`, which has the words for a program and for a shell.
enum MessageRule {
    /// The one file that may spell options out.
    static let table = "Sources/WaybillCore/Remedy.swift"

    /// Looks at every string of the sources that holds a space. `wireNames` are names of protocols, which look the same.
    static func findings(in file: TextFile, wireNames: Set<String>) -> [Finding] {
        guard let target = file.target, file.isSwift, target != "WaybillTesting", file.path != table else { return [] }
        return strings(of: file).compactMap { line, text in
            let isSentence = text.contains(" ") && !text.contains(/^(?:SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA)\b/)
            guard isSentence, let word = apiWord(in: text, wireNames) else { return nil }
            return Finding(file.path, line, "a message names \(word): put the advice into Remedy, or use plain words")
        }
    }

    /// Names that are the whole of a string: members of JSON and parameters of a protocol.
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

    /// The strings on one line, each with its line, interpolations taken out.
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
                    // Of several lines: help texts, which are the command's own.
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
                // What stands there is a value, not a letter of the word beside it.
                kept.append(UInt8(ascii: "-"))
                depth = 1
                index += 2
                continue
            }
            if depth == 0, bytes[index] == backslash {
                // A letter after a backslash is part of the escape and not of a word; an escaped quote is a quote.
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
