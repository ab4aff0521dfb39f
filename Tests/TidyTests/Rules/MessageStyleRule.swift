/// Reports messages of errors that are not whole sentences: each begins with a capital letter and ends with a full stop.
/// A message that begins or ends with a value, or with text from elsewhere, is not judged at that end.
enum MessageStyleRule {
    static func findings(in file: TextFile) -> [Finding] {
        guard let target = file.target, file.isSwift, target != "WaybillTesting" else { return [] }
        return messages(of: file).compactMap { line, literals in
            guard let first = literals.first, let last = literals.last else { return nil }
            if first.wholeMatch(of: /[a-z].*/.dotMatchesNewlines()) != nil, !first.hasPrefix("libcurl ") {
                return Finding(file.path, line, "a message begins with a small letter: \"\(first)\"")
            }
            if last.wholeMatch(of: /.*[.!?)]/.dotMatchesNewlines()) == nil {
                return Finding(file.path, line, "a message lacks its full stop: \"\(last)\"")
            }
            return nil
        }
    }

    /// Returns the string literals of each message argument, and the line of the call.
    private static func messages(of file: TextFile) -> [(line: Int, literals: [String])] {
        // The code is as long as the text, with comments and the contents of strings replaced by spaces.
        let (code, text) = (Array(file.code.utf8), Array(file.text.utf8))
        guard code.count == text.count else { return [] }
        return code.indices.filter { isCall(code, $0) }.compactMap { call in
            let end = call + 1
            let line = code[..<end].count { $0 == UInt8(ascii: "\n") } + 1
            return arguments(in: code, from: end).lazy.compactMap { literals(in: code, text, $0) }.first
                .map { (line, $0) }
        }
    }

    private static let names = [
        "UploadError", "BodyError", "JPEGError", "TransferError", "StoreError", "OutboxError", "SystemError",
        "CommandFailure", ".usage",
    ]

    /// Returns whether the parenthesis at `index` begins the arguments of an error.
    private static func isCall(_ code: [UInt8], _ index: Int) -> Bool {
        guard code[index] == UInt8(ascii: "(") else { return false }
        let tail = String(decoding: code[..<index].suffix(40), as: UTF8.self)
        return names.contains(where: tail.hasSuffix)
    }

    /// Returns the ranges of the arguments of a call whose opening parenthesis ends at `start`.
    private static func arguments(in code: [UInt8], from start: Int) -> [Range<Int>] {
        var (found, depth, from) = ([Range<Int>](), 0, start)
        var isString = false
        for index in start..<code.count {
            if code[index] == UInt8(ascii: "\"") { isString.toggle() }
            if isString { continue }
            switch code[index] {
            case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: ","):
                if depth == 0 {
                    found.append(from..<index)
                    from = index + 1
                }
            case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"):
                if depth == 0 { return found + [from..<index] }
                depth -= 1
            default: break
            }
        }
        return []
    }

    /// Returns the string literals of an argument without label, or with the label `message`, that consists of strings.
    /// A missing first or last literal is returned as an interpolation.
    private static func literals(in code: [UInt8], _ text: [UInt8], _ range: Range<Int>) -> [String]? {
        let argument = String(decoding: code[range], as: UTF8.self)
        guard let head = argument.firstMatch(of: /^\s*(?:message:\s*)?"/)?.0.utf8.count else { return nil }
        var (found, start) = ([String](), -1)
        for index in range.lowerBound + head - 1..<range.upperBound where code[index] == UInt8(ascii: "\"") {
            if start >= 0 { found.append(String(decoding: text[start..<index], as: UTF8.self)) }
            start = start < 0 ? index + 1 : -1
        }
        guard found.contains(where: { $0.contains(" ") }) else { return nil }
        let isWhole = argument.last { !$0.isWhitespace } == "\""
        return isWhole ? found : found + ["\\()"]
    }
}
