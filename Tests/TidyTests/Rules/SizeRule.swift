/// Limits the length of files and functions.
enum SizeRule {
    struct Function: Equatable {
        var name: String
        /// The line of the declaration.
        var line: Int
        /// The number of lines from the declaration to the closing brace.
        var length: Int
    }

    static func findings(in file: TextFile) -> [Finding] {
        guard file.isSwift || file.isC else { return [] }
        var findings: [Finding] = []
        let lines = file.lines.count - (file.text.hasSuffix("\n") ? 1 : 0)
        if lines > PackageLayers.maxFileLines {
            findings.append(Finding(file.path, nil, "\(lines) lines; at most \(PackageLayers.maxFileLines)"))
        }
        for function in functions(in: file) where function.length > PackageLayers.maxFunctionLines {
            let message = "\(function.name) has \(function.length) lines; at most \(PackageLayers.maxFunctionLines)"
            findings.append(Finding(file.path, function.line, message))
        }
        return findings
    }

    static func functions(in file: TextFile) -> [Function] {
        file.isSwift
            ? swiftFunctions(in: file.code) : cFunctions(in: file.code)
    }

    private static func swiftFunctions(in code: String) -> [Function] {
        let bytes = Array(code.utf8)
        return declarations(in: bytes).compactMap { declaration -> Function? in
            guard let open = bodyStart(in: bytes, from: declaration.after),
                let close = closingBrace(in: bytes, from: open)
            else { return nil }
            let length = bytes[declaration.start...close].count(where: { $0 == newline }) + 1
            let line = bytes[..<declaration.start].count(where: { $0 == newline }) + 1
            return Function(name: declaration.name, line: line, length: length)
        }
    }

    /// Returns the positions at which `func`, `init`, `deinit` and `subscript` are declared.
    private static func declarations(in bytes: [UInt8]) -> [(name: String, start: Int, after: Int)] {
        var found: [(name: String, start: Int, after: Int)] = []
        var at = 0
        var previous = newline
        while at < bytes.count {
            guard isWordByte(bytes[at]) else {
                if bytes[at] != UInt8(ascii: " ") { previous = bytes[at] }
                at += 1
                continue
            }
            let start = at
            while at < bytes.count, isWordByte(bytes[at]) { at += 1 }
            let word = String(decoding: bytes[start..<at], as: UTF8.self)
            let isCall = previous == UInt8(ascii: ".") || previous == UInt8(ascii: "=")
            if word == "func" {
                let name = bytes[at...].drop { $0 == UInt8(ascii: " ") }.prefix { $0 != UInt8(ascii: "(") }
                found.append((String(decoding: name, as: UTF8.self), start, at))
            } else if ["init", "deinit", "subscript"].contains(word), !isCall {
                found.append((word, start, at))
            }
            previous = bytes[at - 1]
        }
        return found
    }

    /// Returns the position of the brace that opens the body, or `nil` for a protocol requirement.
    private static func bodyStart(in bytes: [UInt8], from start: Int) -> Int? {
        var depth = 0
        var at = start
        var lineIsFresh = false
        while at < bytes.count {
            let byte = bytes[at]
            switch byte {
            case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "{") where depth == 0: return at
            case UInt8(ascii: "}") where depth == 0: return nil
            case newline: lineIsFresh = true
            case UInt8(ascii: " "), UInt8(ascii: "-"): break
            default:
                if depth == 0, lineIsFresh, startsDeclaration(bytes, at) { return nil }
                lineIsFresh = false
            }
            if depth < 0 { return nil }
            at += 1
        }
        return nil
    }

    private static func startsDeclaration(_ bytes: [UInt8], _ at: Int) -> Bool {
        if bytes[at] == UInt8(ascii: "@") || bytes[at] == UInt8(ascii: "#") { return true }
        let word = String(decoding: bytes[at...].prefix { isWordByte($0) }, as: UTF8.self)
        return [
            "func", "var", "let", "init", "deinit", "subscript", "static", "mutating", "associatedtype", "typealias",
            "public", "package", "internal", "private", "nonisolated", "case", "struct", "class", "enum", "extension",
        ].contains(word)
    }

    private static func closingBrace(in bytes: [UInt8], from open: Int) -> Int? {
        var depth = 0
        for at in open..<bytes.count {
            if bytes[at] == UInt8(ascii: "{") { depth += 1 }
            if bytes[at] == UInt8(ascii: "}") { depth -= 1 }
            if depth == 0 { return at }
        }
        return nil
    }

    /// Returns the blocks at the outermost level that follow a parenthesis: these are functions. A block after `=` or
    /// a name is data.
    private static func cFunctions(in code: String) -> [Function] {
        let bytes = Array(code.utf8)
        var functions: [Function] = []
        var at = 0
        var lastMark = newline
        while at < bytes.count {
            guard bytes[at] == UInt8(ascii: "{"), let close = closingBrace(in: bytes, from: at) else {
                if bytes[at] > UInt8(ascii: " ") { lastMark = bytes[at] }
                at += 1
                continue
            }
            if lastMark == UInt8(ascii: ")") {
                let line = bytes[..<at].count(where: { $0 == newline }) + 1
                let length = bytes[at...close].count(where: { $0 == newline }) + 1
                functions.append(Function(name: "function", line: line, length: length))
            }
            lastMark = UInt8(ascii: "}")
            at = close + 1
        }
        return functions
    }
}

private let newline = UInt8(ascii: "\n")
