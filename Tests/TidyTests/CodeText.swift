/// Source code with every comment and the content of every string blanked out, so that prose cannot trigger a rule
/// about code. Lines and columns are preserved.
///
/// It handles Swift (nested comments, raw and multi-line strings, interpolation, raw identifiers) and C (character
/// constants, escapes). Regex literals between slashes are not distinguished from divisions.
struct CodeText {
    enum Language { case swift, c }

    private let source: [UInt8]
    private let language: Language
    private var at = 0
    private var output: [UInt8] = []

    static func of(_ text: String, _ language: Language) -> String {
        var scanner = CodeText(source: Array(text.utf8), language: language)
        while scanner.at < scanner.source.count { scanner.step() }
        return String(decoding: scanner.output, as: UTF8.self)
    }

    private init(source: [UInt8], language: Language) {
        self.source = source
        self.language = language
        output.reserveCapacity(source.count)
    }

    private mutating func step() {
        if source[at] == slash, starts(with: lineComment) {
            while at < source.count, source[at] != newline { blank() }
        } else if source[at] == slash, starts(with: commentStart) {
            blockComment()
        } else if language == .c, source[at] == quote || source[at] == apostrophe {
            delimited(by: source[at])
        } else if language == .swift, source[at] == backtick {
            identifier()
        } else if language == .swift, let hashes = hashesBeforeQuote() {
            swiftString(hashes: hashes)
        } else {
            keep()
        }
    }

    private mutating func blockComment() {
        var depth = 0
        repeat {
            if starts(with: commentStart) {
                depth += language == .swift ? 1 : 1 - depth
                blank(2)
            } else if starts(with: commentEnd) {
                depth -= 1
                blank(2)
            } else {
                blank()
            }
        } while depth > 0 && at < source.count
    }

    private mutating func delimited(by end: UInt8) {
        keep()
        while at < source.count, source[at] != end, source[at] != newline {
            blank(source[at] == backslash ? 2 : 1)
        }
        keep()
    }

    /// A raw identifier may contain braces and quotes.
    private mutating func identifier() {
        keep()
        while at < source.count, source[at] != backtick, source[at] != newline {
            output.append(isWordByte(source[at]) ? source[at] : underscore)
            at += 1
        }
        keep()
    }

    private func hashesBeforeQuote() -> Int? {
        guard source[at] == hash || source[at] == quote else { return nil }
        var end = at
        while end < source.count, source[end] == hash { end += 1 }
        return end < source.count && source[end] == quote ? end - at : nil
    }

    private mutating func swiftString(hashes: Int) {
        for _ in 0..<hashes { keep() }
        let isMultiline = starts(with: [quote, quote, quote])
        let fence = Array(repeating: quote, count: isMultiline ? 3 : 1) + Array(repeating: hash, count: hashes)
        let escape = [backslash] + Array(repeating: hash, count: hashes)
        for _ in 0..<(isMultiline ? 3 : 1) { keep() }
        while at < source.count {
            if starts(with: fence) {
                for _ in fence { keep() }
                return
            }
            if !isMultiline, source[at] == newline { return }
            if starts(with: escape + [openParenthesis]) {
                blank(escape.count)
                interpolation()
            } else if starts(with: escape) {
                blank(escape.count + 1)
            } else {
                blank()
            }
        }
    }

    /// Scans the code up to the matching parenthesis. It is blanked, too; its braces are balanced.
    private mutating func interpolation() {
        let start = output.count
        var depth = 0
        repeat {
            if source[at] == openParenthesis { depth += 1 }
            if source[at] == closeParenthesis { depth -= 1 }
            step()
        } while depth > 0 && at < source.count
        for index in start..<output.count where output[index] != newline { output[index] = space }
    }

    private func starts(with bytes: [UInt8]) -> Bool {
        guard at + bytes.count <= source.count, source[at] == bytes[0] else { return false }
        for index in bytes.indices where source[at + index] != bytes[index] { return false }
        return true
    }

    private mutating func keep() {
        guard at < source.count else { return }
        output.append(source[at])
        at += 1
    }

    private mutating func blank(_ count: Int = 1) {
        for _ in 0..<count where at < source.count {
            output.append(source[at] == newline ? newline : space)
            at += 1
        }
    }
}

private let lineComment = Array("//".utf8)
private let commentStart = Array("/*".utf8)
private let commentEnd = Array("*/".utf8)
private let slash = UInt8(ascii: "/")
private let newline = UInt8(ascii: "\n")
private let space = UInt8(ascii: " ")
private let quote = UInt8(ascii: "\"")
private let apostrophe = UInt8(ascii: "'")
private let backtick = UInt8(ascii: "`")
private let backslash = UInt8(ascii: "\\")
private let hash = UInt8(ascii: "#")
private let underscore = UInt8(ascii: "_")
private let openParenthesis = UInt8(ascii: "(")
private let closeParenthesis = UInt8(ascii: ")")

func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), underscore, 0x80...:
        true
    default: false
    }
}
